"""Events of measurements: a system and its ceilings, a layer and its variants."""

from typing import Annotated, Literal

import msgspec

from benanza_schemas.events.event import TimedEvent, event_id
from benanza_schemas.layer import Precision
from benanza_schemas.limits import (
    MAX_WHOLE,
    MOST_NAMED,
    Count,
    Hash,
    MaybeSha256,
    Microseconds,
    Name,
    Named,
    Rate,
    Reason,
    Samples,
    Time,
)
from benanza_schemas.vocabulary import CacheState, StoppedBy

CeilingName = Literal["bandwidth", "flops", "memory", "launches"]
"""What a rate is of: bytes per second from and to the last cache, operations per second, bytes per
second from and to the memory, or calls per second, one after the other.
"""


class Ceiling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate that was measured on a system and that no layer can exceed.

    `value` is in bytes per second for `bandwidth` and `memory`, in operations per second in the
    precision given for `flops`, in calls per second for `launches`. `iqr` is the interquartile
    range of the samples, in the same unit.
    """

    name: CeilingName
    precision: Precision
    value: Rate
    iqr: Annotated[float, msgspec.Meta(ge=0, le=1e30)]


class System(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The machine and the software of a measurement. An empty string stands for what isn't there.

    `system_id` is a hash of all other fields; `identified` fills it in. `threads` is the number of
    CPU threads that a layer may use, `method` the version of the measuring method.
    """

    system_id: Hash
    runtime: Name
    accelerator: Name
    driver: Name
    cuda: Name
    cudnn: Name
    cublas: Name
    cpu: Name
    threads: Annotated[int, msgspec.Meta(ge=1, le=MAX_WHOLE)]
    libraries: Named
    method: Name


def identified(system: System) -> System:
    """The same system with the `system_id` that follows from its other fields."""
    fields = {k: v for k, v in sorted(msgspec.to_builtins(system).items()) if k != "system_id"}
    return msgspec.structs.replace(
        system, system_id=event_id("System", msgspec.json.encode(fields, order="sorted").decode())
    )


def device(system: System) -> str:
    """What systems have in common whose times may be compared: the accelerator, or, without one,
    the CPU with the number of threads. A framework brings its own libraries, so these don't count.

    The column `systems.device` of the store says the same.
    """
    return system.accelerator or f"{system.cpu}, threads: {system.threads}"


class SystemMeasured(TimedEvent, frozen=True, kw_only=True):
    """The ceilings of a system were measured. Topic `results`, key `system_id`.

    `cache_bytes` is the size of the last cache before the memory, zero if it isn't known.
    `imported_from` is the SHA-256 of the file that this was imported from; empty if it was measured
    here.
    """

    system: System
    measured_at: Time
    ceilings: Annotated[tuple[Ceiling, ...], msgspec.Meta(max_length=MOST_NAMED)]
    cache_bytes: Count = 0
    imported_from: MaybeSha256 = ""


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One way of running a layer: its time with its spread, or the reason that it failed.

    A variant with a `failure` has none of `samples_us`, `minimum_us`, `median_us` and `iqr_us`;
    one without has them all. `samples_us` are times of one execution each, in the order taken. The
    same variant may stand there once for each `cache`.

    `layout` is the order of the axes of feature maps in memory, if it matters. `layout_change_us`
    is the time that it takes to convert all feature maps that the variant reads into this layout,
    and those that it writes back: for channels last and blocks of channels, from channels first;
    for channels first, from channels last on a GPU, and from blocks of channels on a CPU. It is
    None where it wasn't measured, as for a variant that takes any layout. `write_change_us` is for
    those that it writes alone, whatever layout the variant has. `chosen_by_heuristic` says that the
    library's own heuristic, which times nothing, would have taken this variant in this layout.
    """

    library: Name
    algorithm: Name
    layout: Name = ""
    cache: CacheState = CacheState.WARM
    samples_us: Samples = ()
    minimum_us: Microseconds | None = None
    median_us: Microseconds | None = None
    iqr_us: Microseconds | None = None
    stopped_by: StoppedBy = StoppedBy.NOT_SAMPLED
    workspace_bytes: Count = 0
    layout_change_us: Microseconds | None = None
    write_change_us: Microseconds | None = None
    chosen_by_heuristic: bool = False
    failure: Reason = ""

    def __post_init__(self) -> None:
        # Written out, since recordings hold hundreds of thousands of variants.
        if self.failure:
            fits = not self.samples_us and self.minimum_us is None
            fits = fits and self.median_us is None and self.iqr_us is None
        else:
            fits = bool(self.samples_us) and self.minimum_us is not None
            fits = fits and self.median_us is not None and self.iqr_us is not None
        if not fits:
            raise ValueError(_misfit(self))


TIME_FIELDS = ("samples_us", "minimum_us", "median_us", "iqr_us")
"""The fields that a variant with a time has, and one with a failure lacks."""


_TIME_OR_FAILURE = {
    "oneOf": [
        {
            "required": ["failure"],
            "properties": {
                "failure": {"minLength": 1},
                "samples_us": {"maxItems": 0},
                "minimum_us": {"type": "null"},
                "median_us": {"type": "null"},
                "iqr_us": {"type": "null"},
            },
        },
        {
            "required": [*TIME_FIELDS],
            "properties": {
                "failure": {"maxLength": 0},
                "samples_us": {"minItems": 1},
                "minimum_us": {"type": "number"},
                "median_us": {"type": "number"},
                "iqr_us": {"type": "number"},
            },
        },
    ]
}
"""What `Variant` checks when it is made, in JSON Schema."""


def _misfit(variant: Variant) -> str:
    """Which field of a variant makes it neither one with a time nor one with a failure."""
    given = [name for name in TIME_FIELDS if getattr(variant, name) not in (None, ())]
    if variant.failure:
        wrong = f"`{given[0]}` stands beside `failure`"
    else:
        lacking = next(name for name in TIME_FIELDS if name not in given)
        wrong = f"`{lacking}` is missing, and `failure` too"
    return f"{wrong}: a variant has either a time or a failure"


NOTHING_TRIED = "no variant was tried"
"""Stands for the reason where a measurement has neither a variant nor a failure."""


class LayerMeasured(TimedEvent, frozen=True, kw_only=True):
    """A layer was benchmarked on a system. Topic `results`, key `fingerprint`.

    `failure` says why no variant could be tried; then `variants` is empty. `environment` describes
    the conditions of the measurement: load, clocks, attempts.
    """

    fingerprint: Hash
    system: System
    precision: Precision
    measured_at: Time
    variants: Annotated[
        tuple[Annotated[Variant, msgspec.Meta(extra_json_schema=_TIME_OR_FAILURE)], ...],
        msgspec.Meta(max_length=2**16),
    ]
    environment: Named = msgspec.field(default_factory=dict)
    failure: Reason = ""
