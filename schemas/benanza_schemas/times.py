"""Which variants, and which measurements, have a time that a bound may count."""

from benanza_schemas.events import PRUNED, WARM, LayerMeasured, Variant


def has_warm_time(variant: Variant) -> bool:
    """Whether the variant was timed with warm caches, and wasn't pruned."""
    return variant.cache == WARM and variant.stopped_by != PRUNED and not variant.failure


def is_timed(event: LayerMeasured) -> bool:
    """Whether the measurement gives its layer a time."""
    return any(map(has_warm_time, event.variants))
