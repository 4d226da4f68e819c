"""The layers of a model."""

from typing import Any

from benanza.results.result import Result
from benanza_schemas.layer import Kind


class InspectedLayer(Result, frozen=True, kw_only=True):
    """A layer of a model. `index` is its position in topological order.

    `inputs` and `outputs` are shapes, weights among the inputs; an optional input left out
    has none. `flops` counts a multiply-add as two; `bytes` reads each input and writes each
    output once. A skipped layer has an empty fingerprint, and a `reason` that says how to
    mend it.
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
    """The layers of a model at one batch size. `edges` go from an earlier index to a later."""

    model_id: str
    name: str
    opset: int
    batch: int
    layers: tuple[InspectedLayer, ...]
    edges: tuple[tuple[int, int], ...]
    groups: tuple[InspectedGroup, ...]
    unique_layers: int
    skipped: tuple[SkippedLayer, ...]
