"""The result of `extract`: a model's layers, edges and groups."""

import msgspec

from benanza_schemas.events import Group, LayerSummary
from benanza_schemas.layer import Attribute, AttributeValue, Layer


class ExtractedLayer(LayerSummary, frozen=True, kw_only=True):
    """A layer of a model: its summary, with texts of any length, its own name, and its graph.

    `layer` is canonical, and None for a skipped layer. `flops`, `bytes` and `parameters` are those
    of `costs`, and zero for a view.
    """

    name: str
    layer: Layer | None = None

    def attributes(self) -> tuple[Attribute, ...]:
        """The operator's attributes, with defaults for those left out."""
        return () if self.layer is None else self.layer.operators[0].attributes

    def attribute(self, name: str) -> AttributeValue | None:
        """The value of an attribute; None if the operator doesn't have it."""
        return None if self.layer is None else self.layer.operators[0].attribute(name)


class ExtractedGroup(Group, frozen=True, kw_only=True):
    """A group with its graph: `layer` is canonical."""

    layer: Layer


class LayerSequence(msgspec.Struct, frozen=True):
    """Layers of a model, by position, that follow each other in its topological order.

    `layer` is their network in canonical form, with all inputs and results.
    """

    positions: tuple[int, ...]
    layer: Layer
    fingerprint: str


class ExtractedModel(msgspec.Struct, frozen=True):
    """A model at one batch size.

    `layers` are in topological order. `edges` lead from an earlier position to a later one and
    are sorted, each pair once. `opset` is that of the standard domain, 0 if the model names none.
    `sequences` are those of the granularity that was asked for.
    """

    opset: int
    batch: int
    dims: dict[str, int]
    layers: tuple[ExtractedLayer, ...]
    edges: tuple[tuple[int, int], ...]
    groups: tuple[ExtractedGroup, ...]
    sequences: tuple[LayerSequence, ...] = ()
