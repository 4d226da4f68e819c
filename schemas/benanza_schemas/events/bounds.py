"""The event of a bound."""

from typing import Annotated, Literal

import msgspec

from benanza_schemas.events.event import TimedEvent
from benanza_schemas.layer import Accounting, Precision
from benanza_schemas.limits import (
    MOST_ITEMS,
    Count,
    Hash,
    Hashes,
    Positions,
    Positive,
    Reason,
    Time,
    TotalMicroseconds,
)


class Missing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Layers of the model, by position, that the bound lacks for this reason."""

    reason: Reason
    layers: Positions


ImageLayout = Literal["", "NCHW", "NHWC", "NCHWc"]
"""The order of the axes of feature maps: whichever, channels first, channels last, or channels in
blocks, those of a block last.
"""

Limit = Literal["cache", "memory", "compute", "latency"]
"""What a speed of light is held by: bytes from the last cache, bytes from the memory, operations,
or calls one after the other.
"""


class BoundUpdated(TimedEvent, frozen=True, kw_only=True):
    """A new version of the bound of an architecture's models. Topic `bounds`, key architecture,
    system, batch, precision, accounting, fusion.

    `cause` is the id of the event that moved it: a measurement, or a model's ingestion.
    `measured`, `free`, `not_counted` and `missing` are positions of layers and together hold
    every layer once. Where `missing` isn't empty the bound is partial: it counts only the measured
    layers, and grows with each further layer, unless a group that is measured later is faster than
    its layers. `cover` lists the fingerprints that the sequential bound adds up,
    in topological order. `critical_path` holds positions of layers. `layout` is the one that most
    calls keep their feature maps in, empty where that makes no difference.
    `roofline_us` is the speed of light, under the name of the figure that it took the place of, and
    `limited_by` the ceiling that holds it; it is empty where that is zero or can't be computed, and
    before version 18, when the figure was the sum of the layers' rooflines. `roofline_us` and
    `attainable_us` are null where they can't be computed. `attainable_error_us` is zero where all
    times of the attainable estimate were measured; where some were estimated, the estimate is that
    far off at most in nine of ten models. The sequential and the
    parallel bound and their spreads are null where layers are missing and none is measured; zeros
    that an older version wrote there are read as null.

    Of the versions of a bound the one with the highest `claim` counts, of these the one with the
    latest `computed_at`, and of these the one with the highest `event_id`. Whichever analyzer takes
    over an architecture claims it with a higher number than all before it (`Consumer.claim`), so
    that what one writes that was taken for dead doesn't count any more, whatever its clock says. An
    event of an older version has 0.
    """

    architecture_id: Hash
    system_id: Hash
    batch: Positive
    precision: Precision
    accounting: Accounting
    fusion: bool
    cause: Hash
    computed_at: Time
    sequential_us: TotalMicroseconds | None
    sequential_spread_us: TotalMicroseconds | None
    parallel_us: TotalMicroseconds | None
    parallel_spread_us: TotalMicroseconds | None
    roofline_us: TotalMicroseconds | None
    attainable_us: TotalMicroseconds | None
    measured: Positions
    free: Positions
    not_counted: Positions
    missing: Annotated[tuple[Missing, ...], msgspec.Meta(max_length=MOST_ITEMS)]
    cover: Hashes
    critical_path: Positions
    layout: ImageLayout = ""
    claim: Count = 0
    limited_by: Limit | Literal[""] = ""
    attainable_error_us: TotalMicroseconds = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.missing and not self.measured:
            for name in _FIGURES:
                if getattr(self, name) == 0:
                    msgspec.structs.force_setattr(self, name, None)


_FIGURES = ("sequential_us", "sequential_spread_us", "parallel_us", "parallel_spread_us")
