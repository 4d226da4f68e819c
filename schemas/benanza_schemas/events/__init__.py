"""The events, as typed structures. `codec` turns them into bytes and back.

Every event has a `schema_version`, and an `event_id` that is a hash of its causes, so that any step
may be repeated: the same cause gives the same id. Times are in microseconds and named `…_us`; time
stamps are in UTC.
"""

from benanza_schemas.events.bounds import (
    BoundUpdated,
    ImageLayout,
    Limit,
    Missing,
)
from benanza_schemas.events.dead_letters import (
    DeadLetter,
    DeadLetterSettled,
)
from benanza_schemas.events.evaluations import (
    AgentAnnounced,
    Constraints,
    EvaluationRequested,
    EvaluationTaken,
    ModelEvaluated,
)
from benanza_schemas.events.event import (
    SCHEMA_VERSION,
    Event,
    TimedEvent,
    event_id,
)
from benanza_schemas.events.layers import (
    BenchmarkRequested,
    LayerKnown,
    LayerSeen,
)
from benanza_schemas.events.measurements import (
    NOTHING_TRIED,
    TIME_FIELDS,
    Ceiling,
    CeilingName,
    LayerMeasured,
    System,
    SystemMeasured,
    Variant,
    device,
    identified,
)
from benanza_schemas.events.models import (
    MAX_INLINE_MODEL_BYTES,
    MOST_LEAST_KNOWN,
    CheckpointIngested,
    ContentEncoding,
    Group,
    InlineModel,
    LayerSummary,
    LayerUse,
    ModelForgotten,
    ModelIngested,
    ModelPublished,
)
from benanza_schemas.events.recordings import (
    MARK,
    RecordingWithdrawn,
    is_submitted,
    recording_of,
)
from benanza_schemas.events.runs import (
    FrameworkCall,
    FrameworkKernel,
    ModelProfiled,
    ModelWitnessed,
    RunTimes,
)
from benanza_schemas.limits import (
    MAX_NAME_LENGTH,
    MAX_REASON_LENGTH,
    Count,
    Hash,
    Microseconds,
    Name,
    Positive,
    Ratio,
    Reason,
    Sha256,
    Time,
)

AnyEvent = (
    ModelPublished
    | ModelIngested
    | CheckpointIngested
    | ModelForgotten
    | LayerSeen
    | LayerKnown
    | BenchmarkRequested
    | SystemMeasured
    | LayerMeasured
    | BoundUpdated
    | ModelWitnessed
    | ModelProfiled
    | RecordingWithdrawn
    | AgentAnnounced
    | EvaluationRequested
    | EvaluationTaken
    | ModelEvaluated
    | DeadLetter
    | DeadLetterSettled
)

__all__ = [
    "MARK",
    "MAX_INLINE_MODEL_BYTES",
    "MAX_NAME_LENGTH",
    "MAX_REASON_LENGTH",
    "MOST_LEAST_KNOWN",
    "NOTHING_TRIED",
    "SCHEMA_VERSION",
    "TIME_FIELDS",
    "AgentAnnounced",
    "AnyEvent",
    "BenchmarkRequested",
    "BoundUpdated",
    "Ceiling",
    "CeilingName",
    "CheckpointIngested",
    "Constraints",
    "ContentEncoding",
    "Count",
    "DeadLetter",
    "DeadLetterSettled",
    "EvaluationRequested",
    "EvaluationTaken",
    "Event",
    "FrameworkCall",
    "FrameworkKernel",
    "Group",
    "Hash",
    "ImageLayout",
    "InlineModel",
    "LayerKnown",
    "LayerMeasured",
    "LayerSeen",
    "LayerSummary",
    "LayerUse",
    "Limit",
    "Microseconds",
    "Missing",
    "ModelEvaluated",
    "ModelForgotten",
    "ModelIngested",
    "ModelProfiled",
    "ModelPublished",
    "ModelWitnessed",
    "Name",
    "Positive",
    "Ratio",
    "Reason",
    "RecordingWithdrawn",
    "RunTimes",
    "Sha256",
    "System",
    "SystemMeasured",
    "Time",
    "TimedEvent",
    "Variant",
    "device",
    "event_id",
    "identified",
    "is_submitted",
    "recording_of",
]
