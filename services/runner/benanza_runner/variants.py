"""Ways of running a layer that were timed."""

from collections.abc import Iterable

from benanza_runner.measuring.stopping import summary
from benanza_schemas.events import MAX_NAME_LENGTH, Variant
from benanza_schemas.vocabulary import CacheState, StoppedBy


def timed_variant(
    library: str,
    algorithm: str,
    samples_us: tuple[float, ...],
    stopped_by: StoppedBy,
    *,
    layout: str = "",
    cache: CacheState = CacheState.WARM,
    workspace_bytes: int = 0,
    chosen_by_heuristic: bool = False,
) -> Variant:
    """A variant with the summary of its samples: at least one time of an execution, in µs.

    Of an algorithm that names many operators, only what an event can hold is kept.
    """
    times = summary(sorted(samples_us))
    return Variant(
        library=library,
        algorithm=algorithm[:MAX_NAME_LENGTH],
        layout=layout,
        cache=cache,
        samples_us=samples_us,
        minimum_us=times.minimum,
        median_us=times.median,
        iqr_us=times.iqr,
        stopped_by=stopped_by,
        workspace_bytes=workspace_bytes,
        chosen_by_heuristic=chosen_by_heuristic,
    )


def warm(variants: Iterable[Variant]) -> list[Variant]:
    """Those that were timed with all that they need in the caches."""
    return [
        variant for variant in variants if variant.cache == CacheState.WARM and not variant.failure
    ]
