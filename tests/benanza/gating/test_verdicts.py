"""Whether limits hold, by times that vary."""

import random

import pytest

from benanza.gating.results import Gate, Verdict
from benanza.gating.verdicts import FEW, REPETITIONS, Varying, check, unknown, varying

BOUND = Varying(100.0, 98.0, 102.0)


def times(*medians_us: float) -> Varying:
    """Of as many repetitions as there have to be."""
    return varying(medians_us)._replace(repetitions=REPETITIONS)


@pytest.mark.parametrize(
    ("medians_us", "verdict"),
    [
        ((120.0, 121.0, 122.0), "holds"),
        ((120.0, 121.0, 128.0), "within the noise"),  # 128 / 98 > 1.3
        ((131.0, 140.0, 150.0), "within the noise"),  # 131 / 102 < 1.3
        ((133.0, 140.0, 150.0), "fails"),
    ],
)
def test_a_limit_fails_only_beyond_the_noise(
    medians_us: tuple[float, ...], verdict: Verdict
) -> None:
    found = check("max-ratio", 1.3, times(*medians_us), BOUND)
    assert found.verdict == verdict
    assert found.ratio == pytest.approx(medians_us[1] / 100)
    assert not found.reason


def test_what_may_be_less_fails_no_limit() -> None:
    slow, fast = times(200.0, 210.0), times(105.0, 106.0)
    found = check("max-ratio", 1.3, slow, BOUND, "other programs ran")
    assert (found.verdict, found.reason) == ("unknown", "other programs ran")
    assert check("max-ratio", 1.3, fast, BOUND, "other programs ran").verdict == "holds"


def test_few_repetitions_fail_no_limit() -> None:
    """One of two single times of one program is above the other."""
    one, five = varying((200.0,)), varying((100.0,) * REPETITIONS)
    for run, before in ((one, five), (varying((200.0,) * REPETITIONS), varying((100.0,)))):
        found = check("no-slower-than", 1.0, run, before)
        assert (found.verdict, found.reason) == ("unknown", FEW)
    assert check("max-ratio", 1.3, one, BOUND).verdict == "unknown"
    assert check("max-ratio", 2.3, one, BOUND).verdict == "holds"


def test_nothing_is_passed_beside_what_may_have_been_slow() -> None:
    before = times(100.0, 101.0)
    for us in (90.0, 100.5):
        found = check("no-slower-than", 1.0, times(us), before, "", "other programs ran then")
        assert (found.verdict, found.reason) == ("unknown", "other programs ran then")
    found = check("no-slower-than", 1.0, times(150.0), before, "", "other programs ran then")
    assert (found.verdict, found.reason) == ("fails", ""), "it is slower than what was slow"


def test_runs_of_one_program_seldom_fail_each_other() -> None:
    """As often as five of ten random numbers are the greatest: once in 252 times."""
    noise = random.Random(1)
    failed = 0
    for _ in range(5_000):
        now, before = (
            times(*(noise.gauss(100.0, 5.0) for _ in range(REPETITIONS))) for _ in range(2)
        )
        failed += check("no-slower-than", 1.0, now, before).verdict == "fails"
    assert failed == pytest.approx(5_000 / 252, rel=0.5)


def test_the_worst_verdict_counts() -> None:
    assert Gate(runs=(), errors=()).verdict == "unknown", "nothing was checked"
    assert unknown("max-ratio", 1.3, "no bound").reason == "no bound"
