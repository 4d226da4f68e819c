"""Events of models: published by a zoo, and taken apart by ingest."""

from typing import Annotated, Literal

import msgspec

from benanza_schemas.events.derivation import Derivation, Quantised
from benanza_schemas.events.event import Event, TimedEvent
from benanza_schemas.layer import Kind
from benanza_schemas.limits import (
    MOST_ITEMS,
    MOST_NAMED,
    Count,
    Dims,
    Hash,
    MaybeHash,
    Name,
    Names,
    Positions,
    Positive,
    Reason,
    Sha256,
    Time,
    Whole,
)

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


class ModelPublished(Event, frozen=True, kw_only=True):
    """A model was published. Topic `models`, key `sha256`.

    The ONNX file is at `uri`, or, if it is small, in `content`, compressed as `content_encoding`
    says. `sha256` is that of the file itself. Without `batch_sizes` the model's own counts, and 1
    where it leaves that open. `dims` binds named dimensions. With a `granularity` the model's
    sequences of at most so many layers are benchmarked too, each as a network. `quantised` and
    `tensor_parallel` are those of the `Derivation` that is meant, whose name is `name`.
    """

    name: Name
    sha256: Sha256
    zoo: Name = ""
    uri: Name = ""
    content: InlineModel | None = None
    content_encoding: ContentEncoding = ""
    batch_sizes: Annotated[tuple[Positive, ...], msgspec.Meta(max_length=MOST_NAMED)] = ()
    dims: Dims = msgspec.field(default_factory=dict)
    granularity: Positive | None = None
    quantised: Quantised = ""
    tensor_parallel: Positive = 1

    def derivation(self) -> Derivation:
        """What is to be made of the file's model."""
        return Derivation(self.quantised, self.tensor_parallel)


class LayerSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the unique layers of a model, without its graph.

    `fingerprint` is empty for a skipped layer; its `reason` says why it was skipped and how to mend
    that. A view whose results have no elements has a `reason`, too, and so has a layer that copies
    a state (`COPIED_STATE`). `flops` counts a multiply-add as two. `bytes` counts each input and
    each output once. `parameters` counts the elements of constant inputs. `least_flops` are the
    fewest operations known for its products: of a convolution, those by Winograd's algorithms.
    `least_weights` are the bytes that its products read at the least, at the model's own types:
    weights, but not those that meet only padding, and what is kept from step to step. `least_fixed`
    are those of them that are as many at any precision: of all types but float32. All three are
    zero for what isn't a product, and in what was written before versions 18, 19 and 22.
    """

    op: Name
    domain: Name
    kind: Kind
    fingerprint: MaybeHash = ""
    flops: Count = 0
    bytes: Count = 0
    parameters: Count = 0
    reason: Reason = ""
    least_flops: Count = 0
    least_weights: Count = 0
    least_fixed: Count = 0


MOST_LEAST_KNOWN = 2
"""The most that `ModelIngested.least_known` says."""


class LayerUse(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A layer of a model: the position of its summary in `summaries`, and its own name."""

    summary: Count
    name: Name


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Layers of a model, by position, that a library may run as one call.

    A group is convex: no path leaves it and comes back. It may be unconnected, have several
    results, and overlap with other groups. `flops`, `bytes` and `least_flops` are those of the
    group as one call: values that are read only inside are not moved.
    """

    fingerprint: Hash
    rule: Name
    layers: Positions
    flops: Count
    bytes: Count
    least_flops: Count = 0


class ModelIngested(Event, frozen=True, kw_only=True):
    """A model's layers at one batch size. Topic `graphs`, key `architecture_id`.

    It is published for the first model of an architecture that an ingest process sees;
    `CheckpointIngested` is for each. `model_id` is a hash of the file's sha256, the batch size, the
    dimensions bound, and what was derived; `architecture_id` is that of
    `architecture.architecture_id`. `layers` are in topological order; `edges` go from the earlier
    position to the later one, each pair once.

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
    dims: Dims
    summaries: Annotated[tuple[LayerSummary, ...], msgspec.Meta(max_length=MOST_ITEMS)]
    layers: Annotated[tuple[LayerUse, ...], msgspec.Meta(max_length=MOST_ITEMS)]
    edges: Annotated[tuple[tuple[Whole, Whole], ...], msgspec.Meta(max_length=MOST_ITEMS)]
    groups: Annotated[tuple[Group, ...], msgspec.Meta(max_length=MOST_ITEMS)]
    quantised: Quantised = ""
    tensor_parallel: Positive = 1

    def derivation(self) -> Derivation:
        """What was made of the file's model."""
        return Derivation(self.quantised, self.tensor_parallel)

    def least_known(self) -> int:
        """How much it says of the least work of its products: what is of an older version says
        less of the same architecture. 1 with the fewest operations of any, 1 more with weights.
        """
        return any(of.least_flops for of in self.summaries) + any(
            of.least_weights for of in self.summaries
        )

    def __post_init__(self) -> None:
        for position, use in enumerate(self.layers):
            if use.summary >= len(self.summaries):
                raise ValueError(f"layer {position} has summary {use.summary}, which isn't there")


class CheckpointIngested(Event, frozen=True, kw_only=True):
    """A model at one batch size: names and weights for an architecture. Topic `checkpoints`, key
    `model_id`.

    The fields are those of `ModelIngested`; `layer_names` are the names of the architecture's
    layers in this model, in their order. `published_id` is the id of the `ModelPublished` that it
    follows from, empty in what was written before version 16.
    """

    model_id: Hash
    architecture_id: Hash
    name: Name
    zoo: Name
    sha256: Sha256
    opset: Whole
    batch: Positive
    dims: Dims
    layer_names: Names
    published_id: MaybeHash = ""
    quantised: Quantised = ""
    tensor_parallel: Positive = 1


class ModelForgotten(TimedEvent, frozen=True, kw_only=True):
    """A model at one batch size is shown no more, until it is published again. Topic `checkpoints`,
    key `model_id`.

    It takes back each `CheckpointIngested` of the model that stands before it; events of one key
    keep their order in every log. Layers and what was measured of them stay, and so do other models
    of the same architecture. What was ingested before version 10 is shown again by a store that is
    made anew: it has no such event.
    """

    model_id: Hash
    forgotten_at: Time
