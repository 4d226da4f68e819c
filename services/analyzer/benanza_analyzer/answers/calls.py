"""The calls that a bound adds up, one by one."""

import math
from typing import NamedTuple

from benanza_analyzer.bound import longest_path
from benanza_analyzer.measurements import Measurements
from benanza_analyzer.models.catalogue import NOTHING, Catalogue
from benanza_analyzer.plan import CoverPlan


class Call(NamedTuple):
    """A layer, or a group in place of its layers, whose positions are these.

    `layout` is a place in `measurements.SELECTIONS`. `us` is the median of its time, `iqr_us` the
    interquartile range; `conversion_us` is the time of the layout conversions that the call causes,
    once for all its readers. `flops` and `bytes` are its work: operations, and bytes moved at the
    model's own types. `critical` says whether it is on the critical path. A view takes no time, has
    no `fingerprint`, and is among the calls if what it passes on is converted.
    """

    positions: tuple[int, ...]
    fingerprint: str
    layout: int
    us: float
    iqr_us: float
    conversion_us: float
    flops: int
    bytes: int
    critical: bool


class Cover(NamedTuple):
    """The calls of a bound in topological order, and how many layers it lacks. The times of the
    calls and of their conversions add up to the sequential bound; `interleaved_conversion_us` is
    the time of the conversions in the attainable estimate.
    """

    calls: list[Call]
    lacking: int
    interleaved_conversion_us: float

    @property
    def sequential_us(self) -> float:
        """The sequential bound in microseconds."""
        return math.fsum(us for call in self.calls for us in (call.us, call.conversion_us))

    @property
    def conversion_us(self) -> float:
        """The time of the layout conversions in the sequential bound."""
        return math.fsum(call.conversion_us for call in self.calls)


def cover_of(plan: CoverPlan, measurements: Measurements, catalogue: Catalogue) -> Cover:
    """The cover that a plan has chosen."""
    blocks = plan.blocks
    path = frozenset(longest_path(plan))
    ends = blocks.ordered((plan.known & (blocks.numbers != NOTHING)) | (plan.conversion_us > 0))
    calls = []
    for end in ends.tolist():
        number, layout = int(blocks.numbers[end]), int(plan.layouts[end])
        calls.append(
            Call(
                positions=blocks.groups.get(end, (end,)),
                fingerprint=catalogue.fingerprints[number],
                layout=layout,
                us=float(plan.times_us[end]),
                iqr_us=float(measurements.iqr_us[layout, number]) if number != NOTHING else 0.0,
                conversion_us=float(plan.conversion_us[end]),
                flops=int(catalogue.flops[number]),
                bytes=int(catalogue.bytes[number]),
                critical=end in path,
            )
        )
    return Cover(calls, plan.lacking, math.fsum(plan.interleaved_conversion_us.tolist()))
