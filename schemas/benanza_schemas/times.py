"""Which variants, and which measurements, have a time that a bound may count."""

from collections.abc import Sequence
from typing import Protocol

from benanza_schemas.events import Variant
from benanza_schemas.vocabulary import CacheState, StoppedBy


class AttemptedVariant(Protocol):
    """What of a variant says whether it has a time."""

    @property
    def failure(self) -> str:
        """Why it has none."""

    @property
    def stopped_by(self) -> str:
        """What ended its timing."""


class Attempt(Protocol):
    """What of a measurement says so: a `LayerMeasured`, or what is read of one."""

    @property
    def variants(self) -> Sequence[AttemptedVariant]:
        """All that were tried."""


def has_warm_time(variant: Variant) -> bool:
    """Whether the variant was timed with warm caches, and wasn't pruned."""
    sampled_warm = variant.cache == CacheState.WARM and variant.stopped_by != StoppedBy.PRUNED
    return sampled_warm and not variant.failure


def time_us(variant: Variant) -> tuple[float, float]:
    """Median and interquartile range of a variant that has a time, in microseconds."""
    assert variant.median_us is not None and variant.iqr_us is not None  # noqa: PT018
    return variant.median_us, variant.iqr_us


def is_timed(event: Attempt) -> bool:
    """Whether the measurement gives its layer a time: warm, or, of a network, interleaved.

    A call that was timed interleaved was timed warm before.
    """
    return any(
        not variant.failure and variant.stopped_by != StoppedBy.PRUNED for variant in event.variants
    )
