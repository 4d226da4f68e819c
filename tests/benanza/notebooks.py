"""The notebooks of `examples/`, run by a real kernel.

    python -m tests.benanza.notebooks [NAME...]

runs these, or all, over one empty data folder, and stores what they show: what the site shows.
Nothing else may run on the machine meanwhile, since `first-bound` measures it.
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import nbclient
import nbformat

from tests.docs.blocks import ROOT

FOLDER = ROOT / "examples"

NOTEBOOKS = ("first-bound", "compare-systems", "what-if-and-advice", "your-own-sql")
"""In the order in which they are read."""

SKIPPED = "skip-execution"
"""nbclient's tag of cells that it leaves out: here what takes minutes."""


def read(name: str) -> Any:
    """A notebook."""
    text = (FOLDER / f"{name}.ipynb").read_text("utf-8")
    return nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]


def run(book: Any, *, skips: bool) -> None:
    """Runs all cells, or those that a test has time for; each then has its outputs."""
    client = nbclient.NotebookClient(
        book,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": FOLDER}},
        skip_cells_with_tag=SKIPPED if skips else "",
    )
    client.execute()


def outputs(book: Any) -> Iterator[Any]:
    """What the cells have shown."""
    for cell in book.cells:
        yield from cell.get("outputs", ())


def _stored(name: str) -> None:
    book = read(name)
    run(book, skips=False)
    for number, cell in enumerate(book.cells):
        cell.id = f"{name}-{number}"
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            is_prepared = SKIPPED in cell.metadata.get("tags", ())
            cell.outputs = [] if is_prepared else list(_kept(cell.outputs))
    text = nbformat.writes(book)  # type: ignore[no-untyped-call]
    (FOLDER / f"{name}.ipynb").write_text(f"{text}\n", "utf-8")


def _kept(shown: Iterable[Any]) -> Iterator[Any]:
    """Without progress, and tables without what shows them as text."""
    for output in shown:
        if output.get("name") != "stderr":
            if "text/html" in output.get("data", {}):
                output.data.pop("text/plain", None)
            yield output


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BENANZA_DATA"] = folder
        for name in sys.argv[1:] or NOTEBOOKS:
            _stored(name)


if __name__ == "__main__":
    main()
