"""When sampling ends, and what samples come to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.measuring.stopping import Rule, stopped_by, summary
from benanza_schemas.vocabulary import StoppedBy

RULE = Rule(samples=20, least_us=30_000, few_samples=5, tolerance=0.005, cap_us=120_000)

times = st.lists(st.floats(1e-3, 1e7), min_size=1, max_size=50).map(sorted)


@given(times)
def test_summary_is_numpys(ordered: list[float]) -> None:
    found = summary(ordered)
    lower, median, upper = np.percentile(ordered, (25, 50, 75))
    assert found.minimum == ordered[0]
    assert found.median == pytest.approx(median)
    assert found.iqr == pytest.approx(upper - lower, abs=1e-6 * ordered[-1])


@pytest.mark.parametrize(
    ("count", "spent_us", "expected"),
    [
        (19, 100_000.0, None),
        (20, 29_999.0, None),
        (20, 30_000.0, StoppedBy.CONVERGED),
        (4, 119_999.0, None),
        (4, 200_000.0, None),
        (5, 120_000.0, StoppedBy.CONVERGED),
        (1, 11_999_999.0, None),
        (1, 12_000_000.0, StoppedBy.CONVERGED),
        (1_000, 10.0, StoppedBy.CONVERGED),
    ],
)
def test_equal_samples(count: int, spent_us: float, expected: StoppedBy | None) -> None:
    assert stopped_by([7.0] * count, spent_us, RULE) is expected


def test_noise_is_sampled_longer_and_no_longer_than_the_cap() -> None:
    noisy = [100.0] * 30 + [110.0] * 30
    assert stopped_by(noisy, 60_000, RULE) is None
    assert stopped_by(noisy, 120_000, RULE) == StoppedBy.CAP


def test_the_same_noise_converges_with_more_samples() -> None:
    # 1.57 · 2 / √n ≤ 0.005 · 101 from n = 39 on.
    assert stopped_by([100.0] * 19 + [102.0] * 19, 50_000, RULE) is None
    assert stopped_by([100.0] * 20 + [102.0] * 20, 50_000, RULE) == StoppedBy.CONVERGED


@given(times, st.floats(0, 1e9))
def test_it_always_ends_in_bounded_time(ordered: list[float], spent_us: float) -> None:
    reason = stopped_by(ordered, spent_us, RULE)
    assert reason in (None, StoppedBy.CONVERGED, StoppedBy.CAP)
    if spent_us >= 100 * RULE.cap_us:
        assert reason is not None
