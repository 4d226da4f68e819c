"""What goes over the socket between a runner and its worker process, as MessagePack."""

import msgspec

from benanza_runner.runtime import Outcome, RunResult
from benanza_schemas.codec import MAX_EVENT_BYTES
from benanza_schemas.events import Ceiling, System
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.program import Program


class Start(msgspec.Struct, frozen=True, tag=True):
    """The first message: which runtime to make, as `MODULE:CLASS`, with which arguments, in how
    many bytes of memory. It is answered with `Described`.
    """

    runtime: str
    arguments: dict[str, str | int | float | bool]
    memory_bytes: int


class Measure(msgspec.Struct, frozen=True, tag=True):
    """Measure this layer. It is answered with `Measured`."""

    layer: Layer
    precision: Precision


class MeasureCeilings(msgspec.Struct, frozen=True, tag=True):
    """Measure the system's ceilings. It is answered with `CeilingsMeasured`."""

    precision: Precision


class RunModel(msgspec.Struct, frozen=True, tag=True):
    """Run this whole model. It is answered with `ModelRun`."""

    program: Program
    precision: Precision


class Described(msgspec.Struct, frozen=True, tag=True):
    """The worker is ready, and this is what it runs on."""

    system: System
    cache_bytes: int


class Measured(msgspec.Struct, frozen=True, tag=True):
    """What came of measuring a layer."""

    outcome: Outcome


class CeilingsMeasured(msgspec.Struct, frozen=True, tag=True):
    """The system's ceilings at one precision."""

    ceilings: tuple[Ceiling, ...]


class ModelRun(msgspec.Struct, frozen=True, tag=True):
    """What came of running a whole model."""

    run_result: RunResult


class Failed(msgspec.Struct, frozen=True, tag=True):
    """An exception, in one line. The worker goes on, unless it could not start."""

    reason: str


Request = Start | Measure | MeasureCeilings | RunModel
Reply = Described | Measured | CeilingsMeasured | ModelRun | Failed

MOST_REQUEST_BYTES = 64_000_000

MOST_REPLY_BYTES = MAX_EVENT_BYTES
"""What came of a layer or a model is published as an event."""

requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
encoder = msgspec.msgpack.Encoder()
