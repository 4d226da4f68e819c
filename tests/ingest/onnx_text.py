"""Small models written as text: the syntax is that of `onnx.parser`, types of results left out."""

from collections.abc import Mapping

from onnx import ModelProto, parser

from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedGroup, ExtractedLayer, ExtractedModel
from benanza_ingest.limits import Limits
from benanza_schemas.vocabulary import STATE_AS_WRITTEN

OPSET = 21

Domains = Mapping[str, int]
"""Operator domains other than the standard one, with their versions."""


def proto(text: str, opset: int = OPSET, domains: Domains | None = None) -> ModelProto:
    """The model whose graph and functions `text` holds."""
    imports = {"": opset} | dict(domains or {})
    listed = ", ".join(f'"{domain}" : {version}' for domain, version in imports.items())
    model: ModelProto = parser.parse_model(f"<ir_version: 10, opset_import: [{listed}]>\n{text}")
    return model


def content(text: str, opset: int = OPSET, domains: Domains | None = None) -> bytes:
    """The same as the bytes of an ONNX file."""
    encoded: bytes = proto(text, opset, domains).SerializeToString()
    return encoded


def extracted(
    text: str,
    opset: int = OPSET,
    domains: Domains | None = None,
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    limits: Limits | None = None,
) -> ExtractedModel:
    """What ingest finds in the model that `text` describes."""
    return extract(content(text, opset, domains), batch=batch, dims=dims, limits=limits)


def only_layer(text: str, opset: int = OPSET, domains: Domains | None = None) -> ExtractedLayer:
    """The layer of a model that has one layer."""
    (layer,) = extracted(text, opset, domains).layers
    return layer


def as_written(text: str, opset: int = OPSET, domains: Domains | None = None) -> ExtractedGroup:
    """What copies the first state of a model whose states are in place."""
    groups = extracted(text, opset, domains).groups
    return next(group for group in groups if group.rule == STATE_AS_WRITTEN)


def of_operator(model: ExtractedModel, op: str) -> ExtractedLayer:
    """The only layer of this operator."""
    (layer,) = (layer for layer in model.layers if layer.op == op)
    return layer


def kinds(model: ExtractedModel) -> list[tuple[str, str]]:
    """The operator and the kind of each layer."""
    return [(layer.op, layer.kind) for layer in model.layers]


def shapes(layer: ExtractedLayer) -> list[tuple[int, ...]]:
    """The shapes of a layer's tensors, inputs first."""
    assert layer.layer is not None, layer.reason
    return [tensor.shape for tensor in layer.layer.tensors]


def by_name(model: ExtractedModel) -> dict[str, ExtractedLayer]:
    """A model's layers by their names, which must differ."""
    found = {layer.name: layer for layer in model.layers}
    assert len(found) == len(model.layers)
    return found


def edges_by_name(model: ExtractedModel) -> set[tuple[str, str]]:
    """A model's edges as pairs of names of layers."""
    return {(model.layers[a].name, model.layers[b].name) for a, b in model.edges}
