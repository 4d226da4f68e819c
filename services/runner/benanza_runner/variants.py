"""Ways of running a layer. A variant has either a time or a failure, and its type says which.

Events have one structure for both (`benanza_schemas.events.Variant`), which `event_variant` makes.
"""

from collections.abc import Iterable

import msgspec

from benanza_runner.measuring.stopping import summary
from benanza_schemas.events import Variant
from benanza_schemas.vocabulary import CacheState, StoppedBy


class TimedVariant(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A variant with its times; the fields are those of `Variant`.

    `samples_us` holds at least one time, in microseconds; the other times follow from it.
    """

    library: str
    algorithm: str
    layout: str = ""
    cache: CacheState = CacheState.WARM
    samples_us: tuple[float, ...]
    minimum_us: float
    median_us: float
    iqr_us: float
    stopped_by: StoppedBy
    workspace_bytes: int = 0
    layout_change_us: float | None = None
    write_change_us: float | None = None
    chosen_by_heuristic: bool = False


class FailedVariant(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A variant that was refused, or gave a wrong result; `failure` says why."""

    library: str
    algorithm: str
    layout: str = ""
    failure: str
    chosen_by_heuristic: bool = False


AnyVariant = TimedVariant | FailedVariant


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
) -> TimedVariant:
    """A variant with the summary of its samples: at least one time of an execution, in µs."""
    times = summary(sorted(samples_us))
    return TimedVariant(
        library=library,
        algorithm=algorithm,
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


def warm(variants: Iterable[AnyVariant]) -> list[TimedVariant]:
    """Those that were timed with all that they need in the caches."""
    return [
        variant
        for variant in variants
        if isinstance(variant, TimedVariant) and variant.cache == CacheState.WARM
    ]


def event_variant(variant: AnyVariant) -> Variant:
    """The variant as `LayerMeasured` holds it."""
    return Variant(**{name: getattr(variant, name) for name in variant.__struct_fields__})
