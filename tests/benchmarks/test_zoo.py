"""The page that lists the zoo."""

from pathlib import Path

import pytest

from benanza.publishing.zoo_models import zoo
from benchmarks.zoo import PAPER, page
from tests.extracted_zoo import extracted_zoo

PAGE = Path(__file__).parents[2] / "docs" / "zoo.md"


@pytest.mark.slow
def test_the_page_is_as_it_is_written_now() -> None:
    rows = [each.row for each in extracted_zoo()]
    assert page(rows) == PAGE.read_text(encoding="utf-8")


def test_the_papers_models_are_in_the_zoo() -> None:
    names = {each.model.removeprefix("zoo:") for each in zoo(exported=True).models}
    assert names >= set(PAPER)
