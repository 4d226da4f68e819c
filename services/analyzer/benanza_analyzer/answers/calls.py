"""The calls that a bound adds up, one by one."""

import math
from typing import NamedTuple

from benanza_backbone.document import Document


class Call(Document, frozen=True):
    """A layer, or a group in place of its layers, whose positions are these.

    `us` is the median time, `iqr_us` its interquartile range; `conversion_us` is the time of the
    layout conversions that the call causes, once for all its readers. `flops` and `bytes` are the
    call's operations in floating point and the bytes that it moves at the bound's precision, and
    `least_flops` the fewest operations known for its products. `critical` says whether the call is
    on the critical path. A view takes no time, has no `fingerprint`, and is among the calls if what
    it passes on is converted.
    """

    positions: tuple[int, ...]
    fingerprint: str
    us: float
    iqr_us: float
    conversion_us: float
    flops: int
    bytes: float
    critical: bool
    least_flops: int = 0


class Cover(NamedTuple):
    """The calls of a bound in topological order, and the layers that it lacks. The times of the
    calls and of their conversions add up to the sequential bound; `interleaved_conversion_us` is
    the time of the conversions in the attainable estimate. `layouts` holds the place of each call's
    layout in `measurements.SELECTIONS`, by the call's positions.
    """

    calls: list[Call]
    layouts: dict[tuple[int, ...], int]
    missing: frozenset[int]
    interleaved_conversion_us: float

    @property
    def lacking(self) -> int:
        """How many layers it lacks."""
        return len(self.missing)

    @property
    def sequential_us(self) -> float:
        """The sequential bound in microseconds."""
        return math.fsum(us for call in self.calls for us in (call.us, call.conversion_us))

    @property
    def conversion_us(self) -> float:
        """The time of the layout conversions in the sequential bound."""
        return math.fsum(call.conversion_us for call in self.calls)
