"""What running a plan would take: a prediction from the times of single calls, beside the bound."""

import math

from benanza_analyzer.compiled_model import CompiledModel
from benanza_analyzer.measurements import Measurements
from benanza_analyzer.plan import Plan
from benanza_schemas.layer import Precision

BYTES: dict[Precision, int] = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}
"""Of a weight."""


def attainable_us(
    model: CompiledModel,
    plan: Plan,
    measurements: Measurements,
    precision: Precision,
    cache_bytes: int,
) -> float | None:
    """The estimate for a plan, or None where a layer lacks the time for it."""
    warm_us = math.fsum(plan.found(measurements, "in_company_us").tolist())
    cold_us = math.fsum(plan.found(measurements, "weights_cold_us").tolist())
    if plan.sequential_us == 0 or not math.isfinite(warm_us + cold_us):
        return None
    turning_us = math.fsum(plan.turning_in_company_us.tolist())
    share = cold_share(model.parameters * BYTES[precision], cache_bytes)
    return estimate_us(plan.sequential_us, warm_us, cold_us, turning_us, share)


def estimate_us(
    bound_us: float, warm_us: float, cold_us: float, turning_us: float, share: float
) -> float:
    """What calls take in company, with this share of their weights cold, and turning images.

    `warm_us` and `cold_us` are sums of differences, with their errors: neither is taken to be less
    than what it can't be less than, the bound of warm times and the time with warm weights.
    """
    return max(bound_us, warm_us + share * max(0.0, cold_us - warm_us) + turning_us)


def cold_share(weight_bytes: float, cache_bytes: int) -> float:
    """As much of a model's weights as one run no longer finds in the cache after another.

    A GPU's last cache is in two halves, and what all multiprocessors read is in both: so more
    than half of it is never there. What goes from layer to layer is there as well: up to a
    quarter, weights stay. In between it is more the more weights there are; `docs/gpu.md` has
    the whole models that say so. Zero if the cache is not known.
    """
    return min(1.0, max(0.0, 4 * weight_bytes / cache_bytes - 1)) if cache_bytes else 0.0
