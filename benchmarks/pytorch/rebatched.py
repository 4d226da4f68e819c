"""Exports at batch 1 that ingest binds to another batch, against exports at that batch:

    python -m benchmarks.pytorch.export data/exports --models all --batch 1
    python -m benchmarks.pytorch.export data/exports --models all --batch 8
    python -m benchmarks.pytorch.rebatched data/exports --batch 8

prints a table in Markdown: a model is the same in both ways, or refused with a reason. If one
differs, it is bound wrongly, and the exit code is 1.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benanza_ingest.errors import ModelError
from benanza_schemas.events import ModelIngested
from benchmarks.pytorch.bounds import ingested


class Compared(NamedTuple):
    """A model bound to a batch, and its export at that batch. `verdict` is what is shown of it."""

    name: str
    wrong: bool
    verdict: str


def main() -> None:
    """Compares each model that the folder has two exports of."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, default=8)
    asked = parser.parse_args()
    print("| model | bound to the batch, against its export |\n|---|---|")
    wrong = 0
    for found in compared(asked.folder, asked.batch):
        wrong += found.wrong
        print(f"| {found.name} | {found.verdict} |", flush=True)
    sys.exit(wrong > 0)


def compared(folder: Path, batch: int) -> Iterator[Compared]:
    """Each model of which the folder has an export at batch 1 and one at this batch."""
    for path in sorted(folder.glob(f"*-b{batch}.onnx")):
        name = path.stem.removesuffix(f"-b{batch}")
        alone = folder / f"{name}-b1.onnx"
        if not alone.exists():
            continue
        there, _ = ingested(name, path.read_bytes(), batch)
        try:
            here, _ = ingested(name, alone.read_bytes(), batch)
        except ModelError as error:
            yield Compared(name, wrong=False, verdict=f"refused: {error}")
            continue
        yield Compared(name, *judged(here, there))


def judged(here: ModelIngested, there: ModelIngested) -> tuple[bool, str]:
    """Whether what was bound is not what was exported, and by how much.

    Views don't count: exporters leave some away where a size is 1.
    """
    ours, theirs = _layers(here), _layers(there)
    differing = (ours - theirs).total() + (theirs - ours).total()
    if differing:
        ratio = _flops(here) / max(1, _flops(there))
        return True, f"**{differing} layers differ**, FLOPs of the export times {ratio:.3g}"
    views = len(here.layers) - len(there.layers)
    return False, "the same" + (f", but for views: {abs(views)}" if views else "")


def _layers(model: ModelIngested) -> Counter[str]:
    uses = (model.summaries[layer.summary] for layer in model.layers)
    return Counter(use.fingerprint or use.op for use in uses if use.kind != "view")


def _flops(model: ModelIngested) -> int:
    return sum(model.summaries[layer.summary].flops for layer in model.layers)


if __name__ == "__main__":
    main()
