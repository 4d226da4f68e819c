"""The events, as typed structures. `codec` turns them into bytes and back.

Every event has a `schema_version`, and an `event_id` that is a hash of its causes, so that any step
may be repeated: the same cause gives the same id. Times are in microseconds and named `…_us`; time
stamps are in UTC.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from benanza_schemas.identity import digest
from benanza_schemas.layer import MAX_WHOLE, Accounting, Kind, Layer, Precision, Whole
from benanza_schemas.vocabulary import CacheState, StoppedBy

SCHEMA_VERSION = 12
"""Version 11 had no compressed content. Version 10 had no networks. Version 9 had no architectures:
bounds were those of models. Version 8 had no runs of what-ifs, and no kernels of calls. Version 7
had no ModelProfiled. Version 6 didn't say whether a witness is right. Version 5 had no layout
NCHWc. Version 4 had zero where a bound has no figure. Version 3 had no `after` either; version 2
had no `write_change_us`, `chosen_by_heuristic` and `read_ahead`; version 1 had no
`layout_change_us`, `cache_bytes` and `layout`, and no ModelWitnessed.
"""

# In Python's patterns `$` also matches before a newline at the end; the length rules that out.
Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$", max_length=32)]
"""A 128-bit hash in hexadecimal: fingerprints, event ids, model ids, system ids."""

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Count = Annotated[int, msgspec.Meta(ge=0)]
MAX_NAME_LENGTH = 4096
MAX_REASON_LENGTH = 8192
Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME_LENGTH)]
Reason = Annotated[str, msgspec.Meta(max_length=MAX_REASON_LENGTH)]
Microseconds = Annotated[float, msgspec.Meta(ge=0, le=2**53)]
"""A time in microseconds, always finite."""

Ratio = Annotated[float, msgspec.Meta(ge=0, le=2**53)]
"""A number without a unit, always finite."""

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time stamp with its zone, in the form of RFC 3339."""

MAX_INLINE_MODEL_BYTES = 1_000_000
"""The most bytes of a model's file in an event, as they are there: compressed, if they are."""

InlineModel = Annotated[
    bytes,
    msgspec.Meta(
        max_length=MAX_INLINE_MODEL_BYTES, description=f"at most {MAX_INLINE_MODEL_BYTES:,} bytes"
    ),
]


ContentEncoding = Literal["", "xz"]
"""How content is compressed: not at all, or as an .xz file (https://tukaani.org/xz/format.html)."""


def event_id(kind: str, *causes: str) -> Hash:
    """The id of an event of this kind with these causes: 32 hexadecimal digits."""
    return digest("\0".join((kind, *causes)).encode())


class Event(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag=True):
    """The fields of all events. In the encoded form, `type` is the class's name."""

    event_id: Hash
    schema_version: Annotated[int, msgspec.Meta(ge=1)] = SCHEMA_VERSION


class ModelPublished(Event, frozen=True, kw_only=True):
    """A model was published. Topic `models`, key `sha256`.

    The ONNX file is at `uri`, or, if it is small, in `content`, compressed as `content_encoding`
    says. `sha256` is that of the file itself. Without `batch_sizes` the model's own counts, and 1
    where it leaves that open. `dims` binds named dimensions. With a `granularity` the model's
    sequences of at most so many layers are benchmarked too, each as a network.
    """

    name: Name
    sha256: Sha256
    zoo: Name = ""
    uri: Name = ""
    content: InlineModel | None = None
    content_encoding: ContentEncoding = ""
    batch_sizes: tuple[Positive, ...] = ()
    dims: dict[Name, Positive] = {}
    granularity: Positive | None = None


class LayerSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the unique layers of a model, without its graph.

    `fingerprint` is empty for a skipped layer; its `reason` says why it was skipped and how to mend
    that. `flops` counts a multiply-add as two. `bytes` counts each input and each output once.
    `parameters` counts the elements of constant inputs.
    """

    op: Name
    domain: Name
    kind: Kind
    fingerprint: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{32})?$", max_length=32)] = ""
    flops: Count = 0
    bytes: Count = 0
    parameters: Count = 0
    reason: Reason = ""


class LayerUse(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A layer of a model: the position of its summary in `summaries`, and its own name."""

    summary: Count
    name: Name


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Layers of a model, by position, that a library may run as one call.

    A group is convex: no path leaves it and comes back. It may be unconnected, have several
    results, and overlap with other groups. `flops` and `bytes` are those of the group as one call:
    values that are read only inside are not moved.
    """

    fingerprint: Hash
    rule: Name
    layers: tuple[Whole, ...]
    flops: Count
    bytes: Count


class ModelIngested(Event, frozen=True, kw_only=True):
    """A model's layers at one batch size. Topic `graphs`, key `architecture_id`.

    It is published for the first model of an architecture that an ingest process sees;
    `CheckpointIngested` is for each. `model_id` is a hash of the file's sha256, the batch size and
    the dimensions bound, `architecture_id` that of `architecture.architecture_id`. `layers` are in
    topological order; `edges` go from the earlier position to the later one, each pair once.

    What was written before version 10 counts as of an architecture of its own, whose id is the
    model's (`upcasting`), and has no `CheckpointIngested`.
    """

    model_id: Hash
    architecture_id: Hash
    name: Name
    zoo: Name
    sha256: Sha256
    opset: Whole
    batch: Positive
    dims: dict[Name, Positive]
    summaries: tuple[LayerSummary, ...]
    layers: tuple[LayerUse, ...]
    edges: tuple[tuple[Whole, Whole], ...]
    groups: tuple[Group, ...]


class CheckpointIngested(Event, frozen=True, kw_only=True):
    """A model at one batch size: names and weights for an architecture. Topic `checkpoints`, key
    `model_id`.

    The fields are those of `ModelIngested`; `layer_names` are the names of the architecture's
    layers in this model, in their order.
    """

    model_id: Hash
    architecture_id: Hash
    name: Name
    zoo: Name
    sha256: Sha256
    opset: Whole
    batch: Positive
    dims: dict[Name, Positive]
    layer_names: tuple[Name, ...]


class LayerSeen(Event, frozen=True, kw_only=True):
    """A model contains this layer, group or network. Topic `layers`, key `fingerprint`.

    `rule` names the rule that proposed a group; it is empty for a single operator and a network.
    """

    fingerprint: Hash
    layer: Layer
    model_id: Hash
    rule: Name = ""


class LayerKnown(Event, frozen=True, kw_only=True):
    """This layer has a job already. Topic `layers`, key `fingerprint`.

    Dedupe counts the layer as seen, and makes no job for it. It is published for layers whose
    jobs are known from elsewhere.
    """

    fingerprint: Hash


class BenchmarkRequested(Event, frozen=True, kw_only=True):
    """A layer is to be benchmarked; published once per layer. Topic `jobs`, key `fingerprint`.

    With `after`, ids of `LayerMeasured`, the layer is to be benchmarked again, by the systems on
    which all its results are among these; other systems ignore the event.
    """

    fingerprint: Hash
    layer: Layer
    after: tuple[Hash, ...] = ()


CeilingName = Literal["bandwidth", "flops"]
"""What a rate is of: bytes per second from and to the memory, or operations per second."""


class Ceiling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate that was measured on a system and that no layer can exceed.

    `value` is in bytes per second for `bandwidth`, in operations per second in the precision
    given for `flops`. `iqr` is the interquartile range of the samples, in the same unit.
    """

    name: CeilingName
    precision: Precision
    value: Annotated[float, msgspec.Meta(gt=0, le=1e30)]
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
    libraries: dict[Name, Name]
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


class SystemMeasured(Event, frozen=True, kw_only=True):
    """The ceilings of a system were measured. Topic `results`, key `system_id`.

    `cache_bytes` is the size of the last cache before the memory, zero if it isn't known.
    """

    system: System
    measured_at: Time
    ceilings: tuple[Ceiling, ...]
    cache_bytes: Count = 0


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One way of running a layer: its time with its spread, or the reason that it failed.

    A variant with a `failure` has none of `samples_us`, `minimum_us`, `median_us` and `iqr_us`;
    one without has them all. `samples_us` are times of one execution each, in the order taken. The
    same variant may stand there once for each `cache`.

    `layout` is the order of the axes of feature maps in memory, if it matters. `layout_change_us`
    is the time that it takes to convert all feature maps that the variant reads into this layout
    from the other one, and those that it writes back; `write_change_us` is for those that it
    writes alone, whatever layout the variant has. `chosen_by_heuristic` says that the library's
    own heuristic, which times nothing, would have taken this variant in this layout.
    """

    library: Name
    algorithm: Name
    layout: Name = ""
    cache: CacheState = CacheState.WARM
    samples_us: Annotated[tuple[Microseconds, ...], msgspec.Meta(max_length=10_000)] = ()
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


class LayerMeasured(Event, frozen=True, kw_only=True):
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
    environment: dict[Name, Name] = {}
    failure: Reason = ""


class Missing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Layers of the model, by position, that the bound lacks for this reason."""

    reason: Reason
    layers: tuple[Whole, ...]


ImageLayout = Literal["", "NCHW", "NHWC", "NCHWc"]
"""The order of the axes of feature maps: whichever, channels first, channels last, or channels in
blocks, those of a block last.
"""


class BoundUpdated(Event, frozen=True, kw_only=True):
    """A new version of the bound of an architecture's models. Topic `bounds`, key architecture,
    system, batch, precision, accounting, fusion.

    `cause` is the id of the event that moved it: a measurement, or a model's ingestion.
    `measured`, `free`, `not_counted` and `missing` are positions of layers and together hold
    every layer once. Where `missing` isn't empty the bound is partial: it counts only the measured
    layers, and grows with each further layer, unless a group that is measured later is faster than
    its layers. `cover` lists the fingerprints that the sequential bound adds up,
    in topological order. `critical_path` holds positions of layers. `layout` is the one that most
    calls keep their feature maps in, empty where that makes no difference.
    `roofline_us` and `attainable_us` are null where they can't be computed. The sequential and the
    parallel bound and their spreads are null where layers are missing and none is measured; zeros
    that an older version wrote there are read as null.
    """

    architecture_id: Hash
    system_id: Hash
    batch: Positive
    precision: Precision
    accounting: Accounting
    fusion: bool
    cause: Hash
    computed_at: Time
    sequential_us: Microseconds | None
    sequential_spread_us: Microseconds | None
    parallel_us: Microseconds | None
    parallel_spread_us: Microseconds | None
    roofline_us: Microseconds | None
    attainable_us: Microseconds | None
    measured: tuple[Whole, ...]
    free: tuple[Whole, ...]
    not_counted: tuple[Whole, ...]
    missing: tuple[Missing, ...]
    cover: tuple[Hash, ...]
    critical_path: tuple[Whole, ...]
    layout: ImageLayout = ""

    def __post_init__(self) -> None:
        if self.missing and not self.measured:
            for name in _FIGURES:
                if getattr(self, name) == 0:
                    msgspec.structs.force_setattr(self, name, None)


_FIGURES = ("sequential_us", "sequential_spread_us", "parallel_us", "parallel_spread_us")


class RunTimes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The times of a whole model, of one execution each, in the order taken."""

    median_us: Microseconds
    iqr_us: Microseconds
    samples_us: Annotated[tuple[Microseconds, ...], msgspec.Meta(max_length=10_000)]


class ModelWitnessed(Event, frozen=True, kw_only=True):
    """A model was run as its bound says, or as the bound would say under another policy. Topic
    `profiles`, key `model_id`. What is found counts for all models of its architecture.

    `bound_id` is the id of the BoundUpdated, with fusion under the accounting `full`, whose cover
    was run. If `policy` is not empty, it names the policy whose cover was run instead, such as
    `without fusion`, and `predicted_us` is the sequential bound under it. `sequential` is the time
    as one CUDA graph on one stream; `read_ahead` the time with weights prefetched into the cache,
    or kept there, whichever was faster; `parallel` the time on several streams. `calls` counts all
    calls, `layout_changes` the layout conversions among them. `failure` says why there are no
    times.

    `error` is ‖result − reference‖ / ‖reference‖ of the worst output. The reference is computed in
    float32 from the same inputs and weights. Up to `allowed_error` the run is right. Both are
    `None` where nothing was compared; `unchecked` says why.
    """

    model_id: Hash
    system_id: Hash
    bound_id: Hash
    precision: Precision
    batch: Positive
    witnessed_at: Time
    sequential: RunTimes | None = None
    read_ahead: RunTimes | None = None
    parallel: RunTimes | None = None
    calls: Whole = 0
    layout_changes: Whole = 0
    error: Ratio | None = None
    allowed_error: Ratio | None = None
    unchecked: Reason = ""
    failure: Reason = ""
    policy: Name = ""
    predicted_us: Microseconds | None = None


class FrameworkKernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kernel or a copy that a call starts on a GPU, by the driver's name, and when it runs: times
    as those of a `FrameworkCall`.
    """

    name: Name
    start_us: Microseconds
    median_us: Microseconds


class FrameworkCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that a framework makes when it runs a model.

    `name` and `op` are the framework's own. `layers` are the positions of the model's layers that
    the call computes; none, if it only converts or copies what others compute. `start_us` is the
    time from the start of an execution to that of the call, the median of several executions, as
    `median_us` and `iqr_us` are of how long it takes. `kernels` are what it starts on a GPU, as far
    as the framework says, in the order in which they run.
    """

    name: Name
    op: Name
    layers: tuple[Whole, ...]
    start_us: Microseconds
    median_us: Microseconds
    iqr_us: Microseconds
    kernels: tuple[FrameworkKernel, ...] = ()


class ModelProfiled(Event, frozen=True, kw_only=True):
    """A framework ran a model. Topic `profiles`, key `model_id`. What is found counts for all
    models of its architecture.

    `system` is the machine with the framework's own libraries; `runtime` there is the framework.
    `configuration` names what was set, and `options` holds it. `times` are those of executions of
    which nothing but the start and the end was looked at, `times_looked_at` those of the
    executions in which each of `calls`, in the order of their starts, was timed. `environment`
    describes the conditions, as in `LayerMeasured`. `failure` says why there are no times, or no
    calls.
    """

    model_id: Hash
    system: System
    configuration: Name
    options: dict[Name, Name]
    precision: Precision
    batch: Positive
    profiled_at: Time
    times: RunTimes | None = None
    times_looked_at: RunTimes | None = None
    calls: tuple[FrameworkCall, ...] = ()
    environment: dict[Name, Name] = {}
    failure: Reason = ""


class DeadLetter(Event, frozen=True, kw_only=True):
    """An event that a service could not process. Topic `dead-letters`, key that of the original.

    `topic`, `partition`, `offset`, `key` and `value` are those of the original record; `service` is
    the consumer group that read it.
    """

    topic: Name
    partition: Count
    offset: Count
    key: bytes
    value: bytes
    service: Name
    reason: Reason
    failed_at: Time


class DeadLetterSettled(Event, frozen=True, kw_only=True):
    """An operator settled a dead letter. Topic `dead-letters`, key `dead_letter_id`.

    `replayed` means that the original bytes were appended to their topic again, `dropped` that
    nothing is to be done. If a dead letter of the same id comes later, it is open again.
    """

    dead_letter_id: Hash
    action: Literal["replayed", "dropped"]
    settled_at: Time


AnyEvent = (
    ModelPublished
    | ModelIngested
    | CheckpointIngested
    | LayerSeen
    | LayerKnown
    | BenchmarkRequested
    | SystemMeasured
    | LayerMeasured
    | BoundUpdated
    | ModelWitnessed
    | ModelProfiled
    | DeadLetter
    | DeadLetterSettled
)
