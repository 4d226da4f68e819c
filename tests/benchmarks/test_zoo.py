"""The page that lists the zoo."""

from pathlib import Path

import pytest

from benanza.publishing.zoo_models import whole_zoo, zoo
from benanza_ingest.decoders.forms import decoder_names
from benchmarks.zoo import PAPER, extracted, page, row
from tests.extracted_zoo import extracted_zoo

PAGE = Path(__file__).parents[2] / "docs" / "zoo.md"


@pytest.mark.slow
def test_the_page_is_as_it_is_written_now() -> None:
    decoders = whole_zoo().models[-len(decoder_names()) :]
    rows = [each.row for each in extracted_zoo()]
    rows += [row(each, extracted(each)) for each in decoders]
    assert page(rows) == PAGE.read_text(encoding="utf-8")


def test_the_papers_models_are_in_the_zoo() -> None:
    names = {each.model.removeprefix("zoo:") for each in zoo(exported=True).models}
    assert names >= set(PAPER)
