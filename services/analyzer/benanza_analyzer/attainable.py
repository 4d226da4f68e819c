"""The attainable estimate: the time of a plan in a real run, predicted from single calls.

Calls are timed interleaved with others and with cold weights. Where one wasn't, both times are
estimated from its warm time. What comes on top of that is much the same for all calls of a kind,
whatever they move: another call's code before them, and their first weights, which nothing hides.
The values below, and how far off estimates are, were found by leaving out the times of calls that
have them: docs/results/ladder.md.
"""

import math
from typing import NamedTuple

import numpy as np

from benanza_analyzer.measurements import STARTED_US, Measurements
from benanza_analyzer.models.architecture import Architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.plan import CoverPlan
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

INTERLEAVED_US = 0.15, 0.03
"""How much longer a product takes interleaved, and another call."""

COLD_US = 0.35, 0.3
"""How much longer again they take with cold weights."""

COLD_FP32_US = 2.0
"""The same of a product in fp32, whose kernels wait longer for their weights."""

ERROR = 0.07
ERROR_FP32 = 0.2
"""How far off the estimates are in nine of ten models, as a share of the warm time of the calls
whose times were estimated.
"""


class Attainable(NamedTuple):
    """The estimate in microseconds; `error_us` is zero where all of its times were measured."""

    us: float
    error_us: float


def attainable(
    model: Architecture,
    plan: CoverPlan,
    measurements: Measurements,
    catalogue: Catalogue,
    precision: Precision,
    cache_bytes: float,
    *,
    on_gpu: bool,
) -> Attainable | None:
    """The estimate for a plan; None if the plan takes no time, or if a layer lacks its interleaved
    time or its time with cold weights where these can't be estimated: elsewhere than on a GPU, or
    where the size of its last cache isn't known.

    `cache_bytes` is that size, zero if it isn't known.
    """
    if plan.sequential_us == 0:
        return None
    alone_us = plan.found(measurements, "median_us")
    warm_us = plan.found(measurements, "interleaved_us")
    cold_us = plan.found(measurements, "weights_cold_us")
    lacking = ~np.isfinite(warm_us + cold_us)
    if lacking.any() and not (on_gpu and cache_bytes):
        return None
    product = np.array(catalogue.products)[plan.blocks.numbers[plan.known]] > 0
    starts = alone_us >= STARTED_US
    of_product_us, of_others_us = COLD_US
    if precision == "fp32":
        of_product_us = COLD_FP32_US
    later_us = alone_us + np.where(product, *INTERLEAVED_US) * starts
    warm_us = np.where(np.isfinite(warm_us), warm_us, later_us)
    later_us = warm_us + np.where(product, of_product_us, of_others_us) * starts
    cold_us = np.where(np.isfinite(cold_us), cold_us, later_us)
    share = cold_share(model.parameters * PRECISIONS[precision].bytes, cache_bytes)
    error = ERROR_FP32 if precision == "fp32" else ERROR
    return Attainable(
        estimate_us(
            plan.sequential_us,
            math.fsum(warm_us.tolist()),
            math.fsum(cold_us.tolist()),
            math.fsum(plan.interleaved_conversion_us.tolist()),
            share,
        ),
        error * math.fsum(alone_us[lacking].tolist()),
    )


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
