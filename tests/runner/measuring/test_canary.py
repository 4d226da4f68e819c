"""The canary notices drift."""

import pytest

from benanza_runner.measuring.canary import Canary


def test_it_is_timed_at_the_first_job_and_then_now_and_again() -> None:
    times = iter([10.0, 10.1, 11.0])
    canary = Canary(lambda: next(times), every=3)
    seen = []
    for _ in range(7):
        canary.job()
        seen.append((canary.last_us, canary.drifted))
    assert seen == [(10.0, False)] * 3 + [(10.1, False)] * 3 + [(11.0, True)]
    assert canary.drift == pytest.approx(0.1)


def test_before_any_job_there_is_no_drift() -> None:
    assert Canary(lambda: 1.0).drift == 0
