"""What goes over the sockets between ingest and its processes, as MessagePack.

Nothing that a process answers is believed: what names an event, a layer or what it costs is left
out, and follows from the rest (`answers.py`).
"""

from typing import Annotated

import msgspec

from benanza_backbone.confining.confine import Confinement
from benanza_ingest.limits import Limits
from benanza_schemas.events import LayerUse, ModelPublished, Name, Positive, Reason
from benanza_schemas.layer import Kind, Layer
from benanza_schemas.limits import Length, Whole

MOST_REQUEST_BYTES = 16_000_000
"""A request has an event in it."""

MOST_ANSWERS_BYTES = 64_000_000
"""What may come of a model at all its batch sizes: the graph of each has to fit an event."""

MOST_REFUSAL_BYTES = 64_000

_MOST = msgspec.Meta(max_length=1 << 20)
_MOST_EDGES = msgspec.Meta(max_length=1 << 21)
"""Short elements take up to thirty times as much memory as they are long, so they are counted."""


class Reach(msgspec.Struct, frozen=True):
    """The first message: whether the process is to have the network, and from where it may fetch,
    as the setting has it; None is from anywhere. It is answered with its `Confinement`.
    """

    network: bool
    sources: str | None


class FetchModel(msgspec.Struct, frozen=True, tag=True):
    """Fetch the file of this model. It is answered with `Fetched`, and its content as a message of
    its own.
    """

    published: ModelPublished
    limits: Limits


class TakeApart(msgspec.Struct, frozen=True, tag=True):
    """Take this model apart. If its content isn't in the event, it follows as a message of its own.
    Each batch size is answered with a `TakenApart`.
    """

    published: ModelPublished
    limits: Limits


class Fetched(msgspec.Struct, frozen=True, tag=True):
    """The content follows."""


class PackedLayer(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What layers of a model have in common. `graph` is a position, None for a skipped one."""

    graph: Whole | None
    op: Name
    domain: Name
    kind: Kind
    reason: Reason


class PackedGroup(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Layers of a model, by position, that one call may run, or a sequence of them. `graph` is a
    position.
    """

    graph: Whole
    rule: Name
    layers: tuple[Whole, ...]


class TakenApart(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """A model at one batch size, as `ExtractedModel` has it, with each graph once."""

    opset: Whole
    batch: Positive
    dims: Annotated[dict[Name, Length], _MOST]
    graphs: Annotated[tuple[Layer, ...], _MOST]
    summaries: Annotated[tuple[PackedLayer, ...], _MOST]
    layers: Annotated[tuple[LayerUse, ...], _MOST]
    edges: Annotated[tuple[tuple[Whole, Whole], ...], _MOST_EDGES]
    groups: Annotated[tuple[PackedGroup, ...], _MOST]
    sequences: Annotated[tuple[PackedGroup, ...], _MOST]


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The text of a `ModelError`."""

    reason: Reason


Request = FetchModel | TakeApart
Answer = TakenApart | Refused

encoder = msgspec.msgpack.Encoder()
reaches: msgspec.msgpack.Decoder[Reach] = msgspec.msgpack.Decoder(Reach)
confinements: msgspec.msgpack.Decoder[Confinement] = msgspec.msgpack.Decoder(Confinement)
requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
fetched: msgspec.msgpack.Decoder[Fetched | Refused] = msgspec.msgpack.Decoder(Fetched | Refused)
answers: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)
