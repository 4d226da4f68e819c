"""Names of the highest scores, and shares with their intervals."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza.pipelines.scoring import NamedScores, interval, named, predictions_sha256, right
from benanza.pipelines.specification import PipelineOutput, top


def test_the_highest_scores_have_names_from_the_offset_on() -> None:
    scores = np.array([[0.1, 0.9, 0.9, np.nan, 0.5]])
    output = PipelineOutput(labels=("a", "b", "c"), offset=1)
    assert named(scores, output, 4) == NamedScores((1, 2, 4, 0), ("a", "b", "", ""))
    assert named(scores, output, 9).positions == (1, 2, 4, 0), "what is no number is no score"


def test_scores_without_a_number_name_nothing() -> None:
    scores = np.full((1, 5), np.nan, np.float16)
    assert named(scores, PipelineOutput(labels=("a", "b")), 5) == NamedScores((), ())


def test_what_failed_or_has_no_name_is_never_right() -> None:
    found = [NamedScores((0, 1), ("a", "")), None, NamedScores((1, 0), ("", "a"))]
    assert right(found, ["a", "a", "a"], 1) == 1
    assert right(found, ["a", "a", "a"], 2) == 2
    assert right(found, ["", "", ""], 2) == 0
    assert predictions_sha256(found) != predictions_sha256(found[:2])
    assert [top("top-1"), top("top-25")] == [1, 25]


@pytest.mark.parametrize(
    ("successes", "trials", "least", "greatest"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)],
)
def test_the_interval_is_wilson_s(
    successes: int, trials: int, least: float, greatest: float
) -> None:
    """Newcombe, "Two-Sided Confidence Intervals for the Single Proportion", 1998, table I."""
    found = interval(successes, trials)
    assert found.least == pytest.approx(least, abs=5e-5)
    assert found.greatest == pytest.approx(greatest, abs=5e-5)
    other = interval(trials - successes, trials)
    assert other.least == pytest.approx(1 - found.greatest, abs=1e-12)


@given(st.integers(5, 25), st.integers(10, 90))
def test_the_interval_holds_the_true_share_about_as_often_as_it_says(
    trials: int, percent: int
) -> None:
    share = percent / 100
    held = sum(
        comb(trials, successes) * share**successes * (1 - share) ** (trials - successes)
        for successes in range(trials + 1)
        if interval(successes, trials).least <= share <= interval(successes, trials).greatest
    )
    assert held > 0.83
