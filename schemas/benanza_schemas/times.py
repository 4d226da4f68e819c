"""Which variants, and which measurements, have a time that a bound may count."""

from benanza_schemas.events import LayerMeasured, Variant
from benanza_schemas.vocabulary import CacheState, StoppedBy


def has_warm_time(variant: Variant) -> bool:
    """Whether the variant was timed with warm caches, and wasn't pruned."""
    sampled_warm = variant.cache == CacheState.WARM and variant.stopped_by != StoppedBy.PRUNED
    return sampled_warm and not variant.failure


def time_us(variant: Variant) -> tuple[float, float]:
    """Median and interquartile range of a variant that has a time, in microseconds."""
    assert variant.median_us is not None and variant.iqr_us is not None  # noqa: PT018
    return variant.median_us, variant.iqr_us


def is_timed(event: LayerMeasured) -> bool:
    """Whether the measurement gives its layer a time: warm, or, of a network, interleaved.

    A call that was timed interleaved was timed warm before.
    """
    return any(
        not variant.failure and variant.stopped_by != StoppedBy.PRUNED for variant in event.variants
    )
