"""The speed of light: the least time of some work by the ceilings of the system alone.

Each kind of work has a ceiling: bytes that the last cache may hold come from there at its
bandwidth; what is more than it holds comes from the memory; operations are done at the rate of the
matrix products of their type; one call after the other at the rate of calls within a graph. The
work takes at least the longest of these times.

The roofline (Williams, Waterman and Patterson, "Roofline: an insightful visual performance model",
2009) is the same for one call, without the latency.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_analyzer.limits.ceilings import PlatformCeilings
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Limit
from benanza_schemas.layer import Precision

Floats = npt.NDArray[np.float64]

MICROSECONDS = 1e6

AT_OTHER_CLOCKS = 1.05
"""How much faster than its ceilings a layer may be: a GPU's clock moves with its temperature and
power. Of all times that were recorded, two of TF32 are below that of their operations, by 3.6%, and
ceilings of two H100s differ by 1.7%.
"""

BYTES_KEPT = {precision: facts.bytes / 4 for precision, facts in PRECISIONS.items()}
"""The least share of a layer's bytes that is moved at a precision.

Bytes are counted at the model's own types; 16 bits halve what was 32. Integers, and floats of 16
bits in the model, are then counted at half, so that the limit stays one; but for those of which it
is known that they are fixed.
"""


class Work(NamedTuple):
    """What has to be done at least: bytes moved by each part of it, operations on floating point,
    and calls one after the other. Bytes are those at the model's own types; `fixed` are those of
    them that are as many at any precision.
    """

    bytes: Floats
    fixed: Floats
    flops: float
    calls: float


class SpeedOfLight(NamedTuple):
    """The least time of some work, and which ceiling holds it."""

    us: float
    limited_by: Limit


def work_of_call(moved: float, flops: float) -> Work:
    """That of one call."""
    return Work(np.array([moved], np.float64), np.zeros(1), flops, 1.0)


def bytes_at(precision: Precision, moved: Floats, fixed: Floats) -> Floats:
    """How many bytes these are at a precision, of which some are fixed."""
    return (moved - fixed) * BYTES_KEPT[precision] + fixed


def speed_of_light(work: Work, ceilings: PlatformCeilings, precision: Precision) -> SpeedOfLight:
    """The least time of this work. A ceiling that isn't known limits nothing."""
    moved = bytes_at(precision, work.bytes, work.fixed)
    beyond = np.maximum(moved - ceilings.cache_bytes, 0.0)
    of_kinds: Sequence[tuple[Limit, float, float]] = (
        ("cache", float(moved.sum()), ceilings.bandwidth),
        ("memory", float(beyond.sum()) if ceilings.cache_bytes else 0.0, ceilings.memory),
        ("compute", work.flops, ceilings.flops),
        ("latency", work.calls, ceilings.launches),
    )
    times = [
        SpeedOfLight(amount / rate * MICROSECONDS / AT_OTHER_CLOCKS if rate else 0.0, limit)
        for limit, amount, rate in of_kinds
    ]
    return max(times, key=lambda time: time.us)
