"""A short campaign: hostile models and events are refused in one line, quickly, or are taken."""

import re
from pathlib import Path

import pytest

from tests.fuzz.__main__ import lines, numbers
from tests.fuzz.campaign import campaign
from tests.fuzz.cases import KINDS, MOST_BYTES, Case, case, kind_of
from tests.fuzz.outcome import outcome

FOUND = sorted(Path(__file__).parent.glob("found/*"))
"""Inputs by which campaigns found defects; each is named by its kind, by what went wrong, and
by the batch size that was asked for."""


def test_an_input_can_be_made_again() -> None:
    for number in range(40):
        assert case(7, number) == case(7, number)
        assert len(case(7, number).content) <= 2 * MOST_BYTES
    assert {case(7, number).kind for number in range(4)} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [0, 7, 1001])
def test_inputs_of_one_kind_can_be_asked_for(kind: str, first: int) -> None:
    asked = numbers(first, 10, kind)
    assert len(asked) == 10
    assert {kind_of(number) for number in asked} == {kind}
    assert first <= asked[0] < first + len(KINDS)


def test_what_went_wrong_is_told_from_what_is_refused() -> None:
    assert outcome(Case("event, bytes", b"\xc1")).end == "refused"
    assert outcome(Case("model, bytes", b"no model")).end == "refused"
    assert outcome(case(7, 1)._replace(content=b"", batch=0)).end == "refused"


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.name)
def test_what_once_went_wrong_does_not_any_more(file: Path) -> None:
    kind = "event, bytes" if file.name.startswith("event") else "model, bytes"
    asked = re.search(r"-batch-(\d+)", file.name)
    found = outcome(Case(kind, file.read_bytes(), int(asked[1]) if asked else None))
    assert found.end in ("accepted", "refused"), found.said


@pytest.mark.slow
@pytest.mark.integration
def test_a_short_campaign_finds_nothing() -> None:
    tally = campaign(seed=20, numbers=range(400), seconds=60)
    wrong = [found for found in tally.wrong if found.end != "slow"]  # The machine may be busy.
    assert wrong == [], "\n".join(lines(tally))
    assert tally.inputs > 40
