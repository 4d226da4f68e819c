"""What is known of a GPU without measuring a layer there, and of a measured one beside it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from benanza_analyzer.limits.ceilings import PlatformCeilings, SystemCeilings
from benanza_schemas.layer import Precision

Figures = Literal["data sheet", "measured"]
"""Where the figures of a GPU are from: what its maker says can be had at most, or what Benanza's
microbenchmarks reached there.
"""


class GpuSpecification(NamedTuple):
    """A GPU: its name as the driver says it, and its ceilings.

    `memory` and `cache_bandwidth` are in bytes per second, `cache_bytes` is the size of the last
    cache, `clock` in hertz, `launch_us` the time of the shortest call. `flops` holds operations
    per second of matrix products, by precision; at fp32 vector units do them, as they do all that
    isn't a product. `None` is what the figures don't have.
    """

    name: str
    figures: Figures
    compute_capability: str
    multiprocessors: float
    clock: float
    memory: float
    cache_bytes: float
    flops: Mapping[Precision, float]
    cache_bandwidth: float | None = None
    launch_us: float | None = None

    @property
    def issue(self) -> float:
        """Cycles a second of all multiprocessors together."""
        return self.multiprocessors * self.clock


class Rates(NamedTuple):
    """The ceilings of a GPU in the same units, one of two that are compared.

    `cache` and `memory` are in bytes per second, `issue` in cycles of multiprocessors per second. A
    rate of zero limits nothing.
    """

    launch_us: float
    cache: float
    cache_bytes: float
    memory: float
    flops: Mapping[Precision, float]
    issue: float


def attained_rates(measured: SystemCeilings) -> tuple[PlatformCeilings, dict[Precision, float]]:
    """The highest ceilings at any precision, zero for what isn't known, and the operations per
    second of matrix products at each precision at which they are known.
    """
    known = {precision: measured.values(precision) for precision in get_args(Precision)}
    highest = PlatformCeilings(*map(max, zip(*known.values(), strict=True)))
    return highest, {precision: of.flops for precision, of in known.items() if of.flops}


def rates_beside(
    measured: SystemCeilings, sheet: GpuSpecification | None, target: GpuSpecification
) -> tuple[Rates, Rates] | str:
    """The ceilings of a measured GPU and of the target, both by the same kind of figures; or why
    that can't be.

    `measured` are the highest rates that were measured on the former, `sheet` are the figures of
    its data sheet. Where the target's are of a data sheet, too, each call is taken to reach the
    same share of them there. A cache's bandwidth that the target lacks is taken to grow with its
    multiprocessors and their clock, and its launches to take the same time.
    """
    attained, rates = attained_rates(measured)
    if target.figures == "measured":
        if not (attained.memory and attained.bandwidth and attained.flops):
            return "its ceilings were not measured; give figures of a data sheet"
        memory, cache_bytes = attained.memory, attained.cache_bytes
    elif sheet is None:
        return "its data sheet isn't known here; give figures that were measured"
    else:
        memory, cache_bytes, rates = sheet.memory, sheet.cache_bytes, dict(sheet.flops)
    issue = sheet.issue if sheet else target.issue
    launch_us = 1e6 / attained.launches if attained.launches else target.launch_us or 0.0
    source = Rates(launch_us, attained.bandwidth, cache_bytes, memory, rates, issue)
    cache = target.cache_bandwidth or source.cache * target.issue / issue
    return source, Rates(
        launch_us=launch_us if target.launch_us is None else target.launch_us,
        cache=cache if source.cache else 0.0,
        cache_bytes=target.cache_bytes,
        memory=target.memory,
        flops=target.flops,
        issue=target.issue,
    )
