"""Ceilings that a model's own products reached, where the measured ones are lower.

Microbenchmarks may miss the highest rate: other programs run meanwhile, or clocks are lower than
later. A rate at which a product did its part of the least work is possible. With these, each call
of a cover takes at least the least time of its part, so the speed of light is below the bound by
construction.
"""

import numpy as np
import numpy.typing as npt

from benanza_analyzer.limits.ceilings import PlatformCeilings
from benanza_analyzer.limits.least_work import LeastWork
from benanza_analyzer.limits.speed_of_light import MICROSECONDS, bytes_at
from benanza_analyzer.measurements import WHICHEVER, Measurements
from benanza_schemas.layer import Precision


def with_reached(
    ceilings: PlatformCeilings,
    least: LeastWork,
    measurements: Measurements,
    precision: Precision,
) -> PlatformCeilings:
    """The ceilings, each of those that are known at least the highest rate at which any product of
    the model does its part by its best time. The measurements must reach as far as the numbers.
    """
    all_seconds = measurements.median_us[WHICHEVER, least.numbers] / MICROSECONDS
    taken = np.isfinite(all_seconds) & (all_seconds > 0)
    if not taken.any():
        return ceilings
    seconds = all_seconds[taken]
    read = bytes_at(precision, least.reads[taken], least.fixed[taken])

    def highest(known: float, amounts: npt.NDArray[np.float64] | float) -> float:
        return max(known, float((amounts / seconds).max())) if known else 0.0

    return ceilings._replace(
        bandwidth=highest(ceilings.bandwidth, read),
        flops=highest(ceilings.flops, least.flops[taken]),
        memory=highest(ceilings.memory, np.maximum(read - ceilings.cache_bytes, 0.0)),
        launches=highest(ceilings.launches, 1.0),
    )
