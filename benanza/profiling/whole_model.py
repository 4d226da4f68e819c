"""A whole model as a framework runs it, with random weights and inputs.

What the model computes from constants stands in it as a constant: a framework does that once. Its
nodes are named by the positions of their layers, so that a framework's calls can be joined to them.
"""

import re
from collections.abc import Mapping
from math import prod
from typing import NamedTuple

import numpy as np
from onnx import GraphProto, ModelProto, helper, numpy_helper

from benanza.pytorch.metadata import origins_in, properties
from benanza_ingest.errors import ModelError
from benanza_ingest.layering.layers import Layers
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import opset_imports, parse
from benanza_ingest.resolving.bind import bind
from benanza_ingest.resolving.resolve import resolve
from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import placeholder
from benanza_runner.onnx_layers.random_values import random_value
from benanza_schemas.element_types import TO_ONNX
from benanza_schemas.layer import OMITTED

Arrays = dict[str, Array]

_NAMED = re.compile(r"benanza_layer_(\d+)_")


class WholeModel(NamedTuple):
    """A model with its weights, which a session is given apart, and its inputs, by name.

    `metadata` are the `metadata_props` of the file. `origins` holds for each layer the name of the
    FX node that `benanza export` wrote beside the node that computes it, "" where there is none.
    """

    proto: ModelProto
    weights: Arrays
    inputs: Arrays
    metadata: Mapping[str, str]
    origins: tuple[str, ...]


def node_name(position: int) -> str:
    """The name of the node of the layer at this position."""
    return f"benanza_layer_{position}_"


def positions_in(name: str) -> tuple[int, ...]:
    """The positions of the layers that a framework's name of a node mentions."""
    return tuple(int(found) for found in _NAMED.findall(name))


def whole_model(
    content: bytes,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    limits: Limits | None = None,
) -> WholeModel:
    """The model's live nodes as one model; `content`, `batch`, `dims` and `limits` as for
    `extract`, whose layers have the same positions.

    Raises `ModelError` as `extract` does, and if a layer had to be skipped.
    """
    limits = limits or Limits()
    model = parse(content, limits)
    binding = bind(model, batch, dims or {})
    graph = resolve(model, binding, limits)
    maker = Layers(graph, opset_imports(model), limits)
    whole = GraphProto(name="whole")
    weights: Arrays = {}
    for position, node in enumerate(graph.nodes):
        extracted = maker.layer(node)
        layer = extracted.layer
        if layer is None:
            raise ModelError(f"{extracted.name} can't be run: {extracted.reason}")
        proto = whole.node.add()
        proto.CopyFrom(node.proto)
        proto.name = node_name(position)
        del proto.input[:], proto.output[:]
        proto.input.extend(node.inputs)
        proto.output.extend(node.outputs)
        for index, name in zip(layer.operators[0].inputs, node.inputs, strict=False):
            if index == OMITTED or not layer.tensors[index].constant or name in weights:
                continue
            known = graph.constants.value(name)
            # Several tables of different sizes may be read at the same index, and by single numbers
            # frameworks know functions that are written out.
            tensor = layer.tensors[index]
            decides = tensor.value is not None or "int" in tensor.dtype or prod(tensor.shape) == 1
            if decides and known is not None:
                whole.initializer.append(numpy_helper.from_array(np.asarray(known), name))
                weights[name] = known
                continue
            weights[name] = random_value(layer, index)
            whole.initializer.append(placeholder(name, TO_ONNX[tensor.dtype], tensor.shape))
    written = {tensor.name for tensor in whole.initializer if tensor.raw_data}
    inputs: Arrays = {}
    for value in model.graph.input:
        known_type = graph.types.get(value.name)
        if value.name not in graph.constants and known_type is not None:
            inputs[value.name] = _input(known_type.dtype, known_type.dims())
            whole.input.append(value)
    for name in graph.outputs:
        output = graph.types.get(name)
        if output is None:
            raise ModelError(f"the type of its output {name} is not known")
        onnx_type = TO_ONNX[output.dtype]
        whole.output.append(helper.make_tensor_value_info(name, onnx_type, output.dims()))
    made = ModelProto(ir_version=model.ir_version, graph=whole, opset_import=model.opset_import)
    # Ingest leaves metadata out. The weights have been made up, so there is room for the file.
    file = ModelProto.FromString(content)
    origins = origins_in(file)
    return WholeModel(
        proto=made,
        weights={n: a for n, a in weights.items() if n not in written},
        inputs=inputs,
        metadata=properties(file),
        origins=tuple(origins.get(node.outputs[0], "") for node in graph.nodes),
    )


def _input(dtype: str, shape: tuple[int, ...]) -> Array:
    """Random numbers, or, of other types than float32, ones: a token, what a mask lets through."""
    if dtype == "float32":
        return np.random.default_rng(0).random(shape, np.float32)
    return np.ones(shape, dtype)
