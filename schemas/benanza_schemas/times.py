"""Which variants, and which measurements, have a time that a bound may count."""

import math

from benanza_schemas.events import HOPELESS, WARM, LayerMeasured, Variant


def has_time(variant: Variant) -> bool:
    """Whether the variant was timed: its median and its spread are there, and finite."""
    times = variant.median_us, variant.iqr_us
    return not variant.failure and all(us is not None and math.isfinite(us) for us in times)


def has_warm_time(variant: Variant) -> bool:
    """Whether the variant was timed with warm caches, and to the end."""
    return variant.cache == WARM and variant.stopped_by != HOPELESS and has_time(variant)


def is_timed(event: LayerMeasured) -> bool:
    """Whether the measurement gives its layer a time."""
    return any(map(has_warm_time, event.variants))
