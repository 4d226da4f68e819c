"""`inspect`: what ingest finds in a model, as the document that people and programs read."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from benanza.errors import about
from benanza.results.inspect import InspectedGroup, InspectedLayer, Inspection, SkippedLayer
from benanza_ingest.core import model_id
from benanza_ingest.extract import Summarised, extract_with_summary
from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import FetchedModel, fetch
from benanza_schemas.events import LayerSummary
from benanza_schemas.events.derivation import AS_WRITTEN, Derivation
from benanza_schemas.layer import OMITTED, AttributeValue

_SHOWN = [name for name in LayerSummary.__struct_fields__ if not name.startswith("least_")]
"""What is told of a layer: all that ingest says of it before the model is published."""


def inspect_model(
    model: str,
    batch: int | None,
    dims: Mapping[str, int],
    limits: Limits,
    derivation: Derivation = AS_WRITTEN,
) -> Inspection:
    """The layers of MODEL at one batch size.

    `batch` None means the model's own, and 1 where it leaves that open; `dims` binds named
    dimensions. `derivation` is made of it first. Raises `BenanzaError` if it can't be fetched, is
    no model, or can't be derived.
    """
    with about(model):
        fetched = fetch(model, limits)
        extracted = extract_with_summary(
            fetched.content, batch=batch, dims=dims, limits=limits, derivation=derivation
        )
    return _inspection(fetched, extracted, derivation)


def _inspection(fetched: FetchedModel, extracted: Summarised, derivation: Derivation) -> Inspection:
    model = extracted.model
    return Inspection(
        model_id=model_id(fetched.sha256, model.batch, model.dims, derivation),
        name=derivation.name_of(fetched.name),
        opset=model.opset,
        batch=model.batch,
        layers=tuple(_layer(index, layer) for index, layer in enumerate(model.layers)),
        edges=model.edges,
        groups=tuple(
            InspectedGroup(fingerprint=g.fingerprint, rule=g.rule, layers=g.layers)
            for g in model.groups
        ),
        unique_layers=len({layer.fingerprint for layer in model.layers if layer.fingerprint}),
        skipped=tuple(
            SkippedLayer(
                index=index,
                name=layer.name,
                op=layer.op,
                domain=layer.domain,
                reason=layer.reason,
            )
            for index, layer in enumerate(model.layers)
            if layer.kind == "skipped"
        ),
        parameters=extracted.parameters,
        notes=extracted.notes,
    )


def _layer(index: int, layer: ExtractedLayer) -> InspectedLayer:
    inputs: tuple[tuple[int, ...], ...] = ()
    outputs: tuple[tuple[int, ...], ...] = ()
    dtype = ""
    if layer.layer is not None:
        tensors, operator = layer.layer.tensors, layer.layer.operators[0]
        inputs = tuple(tensors[i].shape for i in operator.inputs if i != OMITTED)
        written = [tensors[i] for i in operator.outputs if i != OMITTED]
        outputs = tuple(tensor.shape for tensor in written)
        dtype = written[0].dtype
    return InspectedLayer(
        index=index,
        name=layer.name,
        inputs=inputs,
        outputs=outputs,
        dtype=dtype,
        attributes={a.name: _plain(a.value) for a in layer.attributes()},
        **{name: getattr(layer, name) for name in _SHOWN},
    )


def _plain(value: AttributeValue) -> Any:
    """An attribute as JSON can hold it, which has no infinity. One of float32, as ONNX's are, is
    the shortest number that rounds to it: 1e-05.
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        with np.errstate(over="ignore"):
            single = np.float32(value)
        # Of large numbers NumPy writes zeros for what a float32 doesn't tell.
        return value if value.is_integer() or float(single) != value else float(str(single))
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
