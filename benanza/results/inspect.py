"""Layers: those of a model, and those that are known of all models."""

from typing import Any, ClassVar, Literal

from benanza.results.result import Result
from benanza_backbone.document import Document
from benanza_schemas.layer import Kind


class InspectedLayer(Result, frozen=True, kw_only=True):
    """A layer of a model. `index` is its position in topological order.

    `inputs` and `outputs` are shapes, weights among the inputs; an optional input left out
    has none. `flops` counts a multiply-add as two; `bytes` reads each input and writes each
    output once. A skipped layer has an empty fingerprint, and a `reason` that says how to
    mend it; a view whose results have no elements has a `reason` that says so.
    """

    index: int
    name: str
    op: str
    domain: str
    fingerprint: str
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    dtype: str
    attributes: dict[str, Any]
    flops: int
    bytes: int
    parameters: int
    kind: Kind
    reason: str


class InspectedGroup(Result, frozen=True, kw_only=True):
    """Layers, by index, that a library may run as one call, and the rule that says so."""

    fingerprint: str
    rule: str
    layers: tuple[int, ...]


class SkippedLayer(Result, frozen=True, kw_only=True):
    """A layer of which too little is known to benchmark it, and why."""

    index: int
    name: str
    op: str
    domain: str
    reason: str


class Inspection(Result, frozen=True, kw_only=True):
    """The layers of a model at one batch size. `edges` go from an earlier index to a later.

    `parameters` counts each weight once, however many layers read it. `notes` say what was assumed.
    """

    _rows: ClassVar[str] = "layers"

    model_id: str
    name: str
    opset: int
    batch: int
    layers: tuple[InspectedLayer, ...]
    edges: tuple[tuple[int, int], ...]
    groups: tuple[InspectedGroup, ...]
    unique_layers: int
    skipped: tuple[SkippedLayer, ...]
    parameters: int
    notes: tuple[str, ...]


class InspectedWeight(Result, frozen=True, kw_only=True):
    """A weight as a model's file has it: an initializer, or the tensor of a Constant by the name of
    its result.

    `bytes` are those of its values, packed; those of texts aren't counted. `read_by` are the names
    of the nodes that read it, or their operators where they have none. `min`, `max`, `mean` and
    `std`, the standard deviation, are those of finite values, and `None` where there are none;
    `zero_share` is the share of values that are zero; `not_finite` counts infinities and NaNs.
    `values` are the first few, in the order of memory; what isn't finite is text. Where the values
    can't be had, a `reason` says why.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    read_by: tuple[str, ...]
    min: int | float | None
    max: int | float | None
    mean: float | None
    std: float | None
    zero_share: float | None
    not_finite: int
    values: tuple[int | float | str, ...]
    reason: str


class InspectedWeights(Result, frozen=True, kw_only=True):
    """The weights in a model's file, in its order."""

    _rows: ClassVar[str] = "weights"

    name: str
    weights: tuple[InspectedWeight, ...]


class LayerTime(Document, frozen=True, kw_only=True):
    """The best time of a layer on a system at a precision, or why there is none.

    `us` is the median of the fastest variant with warm caches, of a network interleaved, and
    `iqr_us` its interquartile range; `library`, `algorithm` and `layout` are those of the variant.
    Where no variant has a time, `failure` is the reason of the newest measurement. Both are lacking
    where the layer waits to be measured.
    """

    system: str
    runtime: str
    system_id: str
    precision: str
    us: float | None
    iqr_us: float | None
    library: str
    algorithm: str
    layout: str
    failure: str


LayerUnit = Literal["layer", "group", "network"]
"""What a unique layer is in models: one of their layers; only ever a group, layers in whose place
one call may run; or a network, layers that DLBricks times one after the other.
"""


class KnownLayer(Document, frozen=True, kw_only=True):
    """A unique layer or group, how often models contain it, and its times.

    `title` has its operators, joined by `+`; that of a group whose job isn't made yet is the rule
    that proposed it. `outputs` are shapes, none before the job is made. `dtype` is the type of what
    it reads where neither that nor a result is of a precision's type, and so stays as it is at each
    precision: integers, or `float64`; empty otherwise. `models` counts models at
    each of their batch sizes, `architectures` what those that differ in names and weights only have
    in common, and `uses` the places in all of these models; a group's layers are counted besides.
    All three are 0 for networks: which models they are of is not stored.

    `times` has each system and precision at which any of these layers was tried, or any network.
    """

    title: str
    kind: LayerUnit
    fingerprint: str
    outputs: tuple[tuple[int, ...], ...]
    dtype: str
    models: int
    architectures: int
    uses: int
    times: tuple[LayerTime, ...]


class KnownLayers(Result, frozen=True, kw_only=True):
    """The unique layers and groups of some models, by what their uses take together on the system
    and at the precision where that is the most: most first, and last those without a time.
    """

    _rows: ClassVar[str] = "layers.times"

    layers: tuple[KnownLayer, ...]
