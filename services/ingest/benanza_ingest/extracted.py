"""What ingest finds in a model: the result of `extract`."""

import msgspec

from benanza_schemas.layer import Attribute, Kind, Layer


class ExtractedLayer(msgspec.Struct, frozen=True):
    """A layer of a model.

    `layer` is canonical, and None for a skipped layer, whose `reason` says why and, where
    something helps, what. `flops`, `bytes` and `parameters` are as in `benanza_ingest.costs`;
    a view has none.
    """

    name: str
    op: str
    domain: str
    kind: Kind
    layer: Layer | None = None
    fingerprint: str = ""
    flops: int = 0
    bytes: int = 0
    parameters: int = 0
    reason: str = ""

    def attributes(self) -> tuple[Attribute, ...]:
        """The operator's attributes, those left out filled in."""
        return () if self.layer is None else self.layer.operators[0].attributes


class ExtractedGroup(msgspec.Struct, frozen=True):
    """Layers of a model, by position, that one call may do at once, and the rule that says so."""

    rule: str
    layers: tuple[int, ...]
    layer: Layer
    fingerprint: str
    flops: int
    bytes: int


class ExtractedModel(msgspec.Struct, frozen=True):
    """A model at one batch size.

    `layers` are in topological order; `edges` go from an earlier position to a later one,
    each pair once, sorted. `opset` is that of the standard domain, 0 if the model names none.
    """

    opset: int
    batch: int
    dims: dict[str, int]
    layers: tuple[ExtractedLayer, ...]
    edges: tuple[tuple[int, int], ...]
    groups: tuple[ExtractedGroup, ...]
