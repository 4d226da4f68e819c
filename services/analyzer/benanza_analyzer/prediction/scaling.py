"""The time of a call on another GPU: each part of it by the ceiling that holds that part.

A call consists of a launch, which takes as long as launches do; of the time for which its highest
ceiling (the cache's or the memory's bandwidth, or the rate of operations) holds it; and of what is
left, in which multiprocessors issue or wait, and which is shorter the more of them there are and
the faster their clock is. So a call that is near a ceiling scales with it, and reaches the same
share of it on the other GPU; one that is far from all of them doesn't.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from benanza_analyzer.limits.speed_of_light import BYTES_KEPT, MICROSECONDS
from benanza_analyzer.models.integers import computes_with_integers
from benanza_analyzer.prediction.gpu import Rates
from benanza_schemas.events import Group, LayerMeasured, LayerSummary, ModelIngested, Variant
from benanza_schemas.layer import Precision
from benanza_schemas.vocabulary import CacheState

LEAST_SHARE = 0.75
"""The share of a ceiling that calls reach while it holds them: few reach all of it.

With 0.6 to 1 the errors between an H200, an H100 and a V100 are alike; with less, they grow.
"""


class CallWork(NamedTuple):
    """What a call does: bytes moved at its precision, and operations in floating point, which are
    those of a product or not.
    """

    bytes: float
    flops: float
    product: bool


def works(model: ModelIngested, precision: Precision) -> dict[str, CallWork]:
    """The work of a model's layers and groups, by fingerprint."""
    layers: Sequence[LayerSummary | Group] = [
        *model.groups,
        *(summary for summary in model.summaries if summary.kind != "view"),
    ]
    return {
        layer.fingerprint: CallWork(
            layer.bytes * BYTES_KEPT[precision],
            0.0 if computes_with_integers(layer) else layer.flops,
            layer.least_flops > 0,
        )
        for layer in layers
        if layer.fingerprint
    }


def held_us(work: CallWork, rates: Rates, precision: Precision) -> float:
    """The least time of this work by the ceilings, in microseconds, but for launches.

    What moves more than the last cache holds finds nothing there when it is called again.
    """
    rate = rates.flops.get(precision if work.product else "fp32", 0.0)
    beyond = work.bytes if work.bytes > rates.cache_bytes else 0.0
    limits = (work.bytes, rates.cache), (beyond, rates.memory), (work.flops, rate)
    return max(amount / rate * MICROSECONDS if rate else 0.0 for amount, rate in limits)


def scaled_us(
    us: float, work: CallWork, source: Rates, target: Rates, precision: Precision
) -> float:
    """What a call takes on the target that took `us` on the source."""
    held_there_us = held_us(work, source, precision)
    launch_us = min(us, source.launch_us)
    ceiling_us = min(us - launch_us, held_there_us / LEAST_SHARE)
    scaled = (us - launch_us - ceiling_us) * source.issue / target.issue
    if ceiling_us:
        scaled += ceiling_us * held_us(work, target, precision) / held_there_us
    if launch_us:
        scaled += launch_us * target.launch_us / source.launch_us
    return scaled


def scaled_measurement(
    event: LayerMeasured, work: Mapping[str, CallWork], source: Rates, target: Rates
) -> LayerMeasured:
    """What a layer would be measured with on the target. Only warm times are left."""
    of = work[event.fingerprint]

    def scaled(us: float, does: CallWork = of) -> float:
        return scaled_us(us, does, source, target, event.precision)

    def converted(us: float | None) -> float | None:
        return None if us is None else scaled(us, of._replace(flops=0.0, product=False))

    def there(variant: Variant) -> Variant:
        if variant.median_us is None or variant.iqr_us is None:
            return variant
        median_us = scaled(variant.median_us)
        return replace(
            variant,
            samples_us=(median_us,),
            minimum_us=median_us,
            median_us=median_us,
            iqr_us=scaled(variant.median_us + variant.iqr_us) - median_us,
            layout_change_us=converted(variant.layout_change_us),
            write_change_us=converted(variant.write_change_us),
        )

    warm = (variant for variant in event.variants if variant.cache == CacheState.WARM)
    return replace(event, variants=tuple(map(there, warm)))
