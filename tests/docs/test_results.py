"""docs/results/: each page begins with what it found."""

import re
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS

RESULTS = sorted(DOCS.glob("results/*.md"))
MOST_LINES = 5


def test_there_are_results() -> None:
    assert len(RESULTS) > 5


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: str(page.stem))
def test_a_page_begins_with_figures_in_at_most_five_lines(page: Path) -> None:
    title, found, *_ = page.read_text("utf-8").split("\n\n")
    assert re.fullmatch(r"# .+", title)
    assert 0 < len(found.splitlines()) <= MOST_LINES
    assert re.search(r"\d", found)
