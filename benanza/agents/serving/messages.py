"""What goes over the socket between an agent and the process in which it evaluates."""

import msgspec

from benanza_schemas.codec import MAX_EVENT_BYTES
from benanza_schemas.events import EvaluationRequested, System
from benanza_schemas.events.evaluations import Figures
from benanza_schemas.limits import Reason, Text


class DescribeFrameworks(msgspec.Struct, frozen=True, tag=True):
    """Say the systems of these frameworks, or of all that are installed if none are named. It is
    answered with `FrameworksDescribed`.
    """

    frameworks: tuple[str, ...]


class FrameworksDescribed(msgspec.Struct, frozen=True, tag=True):
    """The systems, and why frameworks have none, by their names."""

    systems: tuple[System, ...]
    failures: dict[str, str]


class EvaluateModel(msgspec.Struct, frozen=True, tag=True):
    """Evaluate the model in this file. It is answered with `ModelWasEvaluated`."""

    requested: EvaluationRequested
    path: str
    model_bytes: int
    nodes: int
    tensor_elements: int


class ExportTrace(msgspec.Struct, frozen=True, tag=True):
    """Look into a few requests of the evaluation before, and export its trace. It is answered with
    `TraceExported`.
    """


class TraceExported(msgspec.Struct, frozen=True, tag=True):
    """That it was, or why not."""

    failure: Reason = ""


class ModelWasEvaluated(msgspec.Struct, frozen=True, tag=True):
    """What came of it, as in `core.EvaluationOutcome`, in what an event of it can hold."""

    figures: Figures
    report: Text
    failure: Reason


Asked = DescribeFrameworks | EvaluateModel | ExportTrace
Answered = FrameworksDescribed | ModelWasEvaluated | TraceExported

MOST_BYTES = 2 * MAX_EVENT_BYTES

asked: msgspec.msgpack.Decoder[Asked] = msgspec.msgpack.Decoder(Asked)
answered: msgspec.msgpack.Decoder[Answered] = msgspec.msgpack.Decoder(Answered)
encoder = msgspec.msgpack.Encoder()
