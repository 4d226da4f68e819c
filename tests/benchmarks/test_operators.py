"""The page of all operators."""

from pathlib import Path

from benanza_schemas.operators.skipped import SKIPPED
from benanza_schemas.operators.table import TABLE
from benchmarks.operators import markdown


def test_the_page_in_docs_is_what_the_module_makes_now() -> None:
    assert (Path(__file__).parents[2] / "docs" / "operators.md").read_text("utf-8") == markdown()


def test_it_names_each_operator() -> None:
    cells = [cell for line in markdown().splitlines() for cell in line.split(" | ")]
    names = [name for cell in cells for name in cell.removesuffix(" |").split(", ")]
    missing = [name for _, name in (*TABLE, *SKIPPED) if name not in names]
    assert missing == []
