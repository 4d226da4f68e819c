"""The attainable estimate: the time of a plan in a real run, predicted from single calls."""

import math

from benanza_analyzer.measurements import Measurements
from benanza_analyzer.models.architecture import Architecture
from benanza_analyzer.plan import CoverPlan
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision


def attainable_us(
    model: Architecture,
    plan: CoverPlan,
    measurements: Measurements,
    precision: Precision,
    cache_bytes: float,
) -> float | None:
    """The estimate for a plan in microseconds; None if the plan takes no time, or if a layer lacks
    its interleaved time or its time with cold weights.

    `cache_bytes` is the size of the last cache, zero if it isn't known.
    """
    warm_us = math.fsum(plan.found(measurements, "interleaved_us").tolist())
    cold_us = math.fsum(plan.found(measurements, "weights_cold_us").tolist())
    if plan.sequential_us == 0 or not math.isfinite(warm_us + cold_us):
        return None
    conversion_us = math.fsum(plan.interleaved_conversion_us.tolist())
    share = cold_share(model.parameters * PRECISIONS[precision].bytes, cache_bytes)
    return estimate_us(plan.sequential_us, warm_us, cold_us, conversion_us, share)


def estimate_us(
    bound_us: float, warm_us: float, cold_us: float, conversion_us: float, share: float
) -> float:
    """The time of interleaved calls, this share of whose weights is cold, with layout conversions.

    `warm_us` is the sum of the interleaved times with warm weights, `cold_us` that with cold
    weights. Both are sums of differences, with errors: `cold_us` counts as at least `warm_us`, and
    the result is at least the bound.
    """
    return max(bound_us, warm_us + share * max(0.0, cold_us - warm_us) + conversion_us)


def cold_share(weight_bytes: float, cache_bytes: float) -> float:
    """The share of a model's weights, from 0 to 1, that one run of the model evicts from the cache
    before the next run reads them.

    A GPU's last cache has two halves, and data that all multiprocessors read is in both: weights
    of more than half of the cache never stay. Activations are in the cache as well: weights of up
    to a quarter of the cache stay. In between the share grows linearly; docs/gpu.md has the whole
    models that this was fitted to. Zero if the size of the cache isn't known.
    """
    return min(1.0, max(0.0, 4 * weight_bytes / cache_bytes - 1)) if cache_bytes else 0.0
