"""Events of whole models that were run: as their bounds say, or by a framework."""

from typing import Annotated

import msgspec

from benanza_schemas.events.event import TimedEvent
from benanza_schemas.events.measurements import System
from benanza_schemas.layer import Precision
from benanza_schemas.limits import (
    MOST_ITEMS,
    Hash,
    MaybeSha256,
    Microseconds,
    Name,
    Named,
    Positions,
    Positive,
    Ratio,
    Reason,
    Samples,
    Time,
    TotalMicroseconds,
    Whole,
)


class RunTimes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The times of a whole model, of one execution each, in the order taken."""

    median_us: Microseconds
    iqr_us: Microseconds
    samples_us: Samples


class ModelWitnessed(TimedEvent, frozen=True, kw_only=True):
    """A model was run as its bound says, or as the bound would say under another policy. Topic
    `profiles`, key `model_id`. What is found counts for all models of its architecture.

    `bound_id` is the id of the BoundUpdated, with fusion under the accounting `full`, whose cover
    was run. If `policy` is not empty, it names the policy whose cover was run instead, such as
    `without fusion`. `predicted_us` is the sequential bound under the policy; without one, that of
    the bound, which a recording needs, as it has no bounds. `imported_from` is as for
    `SystemMeasured`. `sequential` is the time
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
    predicted_us: TotalMicroseconds | None = None
    imported_from: MaybeSha256 = ""


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
    layers: Positions
    start_us: Microseconds
    median_us: Microseconds
    iqr_us: Microseconds
    kernels: Annotated[tuple[FrameworkKernel, ...], msgspec.Meta(max_length=MOST_ITEMS)] = ()


class ModelProfiled(TimedEvent, frozen=True, kw_only=True):
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
    options: Named
    precision: Precision
    batch: Positive
    profiled_at: Time
    times: RunTimes | None = None
    times_looked_at: RunTimes | None = None
    calls: Annotated[tuple[FrameworkCall, ...], msgspec.Meta(max_length=MOST_ITEMS)] = ()
    environment: Named = msgspec.field(default_factory=dict)
    failure: Reason = ""
