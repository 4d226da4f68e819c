"""The least time of some work, and which ceiling holds it."""

import numpy as np
import pytest

from benanza_analyzer.limits.ceilings import PlatformCeilings
from benanza_analyzer.limits.speed_of_light import (
    AT_OTHER_CLOCKS,
    Work,
    speed_of_light,
    work_of_call,
)
from benanza_schemas.layer import Precision

CEILINGS = PlatformCeilings(bandwidth=8e6, flops=10e6, memory=2e6, launches=0.5e6, cache_bytes=20.0)
"""By the microsecond: 8 bytes from the cache, 2 from the memory, 10 operations, half a call."""


def found(work: Work, precision: Precision = "fp32") -> tuple[float, str]:
    """By the ceilings as they are."""
    us, limited_by = speed_of_light(work, CEILINGS, precision)
    return round(us * AT_OTHER_CLOCKS, 9), limited_by


@pytest.mark.parametrize(
    ("moved", "flops", "expected"),
    [
        (4, 1, (2.0, "latency")),
        (20, 10, (2.5, "cache")),
        (20, 30, (3.0, "compute")),
        (40, 0, (10.0, "memory")),
    ],
)
def test_the_ceiling_that_is_nearest_holds_a_call(
    moved: float, flops: float, expected: tuple[float, str]
) -> None:
    assert found(work_of_call(moved, flops)) == expected


def test_the_cache_keeps_the_bytes_of_each_call_alone() -> None:
    work = Work(np.array([20.0, 20.0, 22.0]), np.zeros(3), 0.0, 1.0)
    assert found(work) == (62 / 8, "cache")


def test_sixteen_bits_move_at_least_half_the_bytes() -> None:
    assert found(work_of_call(40, 0), "tf32") == (10.0, "memory")
    assert found(work_of_call(40, 0), "fp16") == (2.5, "cache")


def test_a_ceiling_that_isnt_known_limits_nothing() -> None:
    us, limited_by = speed_of_light(work_of_call(1e6, 30.0), PlatformCeilings(0.0, 10e6), "fp32")
    assert us == pytest.approx(3.0 / AT_OTHER_CLOCKS)
    assert limited_by == "compute"
