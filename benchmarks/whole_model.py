"""A whole model with random weights, as its layers are benchmarked: for timing end to end."""

import numpy as np
from onnx import GraphProto, ModelProto, helper, numpy_helper

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


def whole_model(content: bytes, batch: int | None = None) -> tuple[ModelProto, Arrays, Arrays]:
    """The model's live nodes as one model, its weights, and its inputs; `batch` as for `extract`.

    Weights are handed to the session apart, as the runner does with those of a layer. What
    the model computes from constants stands as a constant: a framework does that once.
    """
    limits = Limits()
    model = parse(content, limits)
    binding = bind(model, batch, {})
    graph = resolve(model, binding, limits)
    maker = Layers(graph, opset_imports(model), limits)
    whole = GraphProto(name="whole")
    weights: Arrays = {}
    for node in graph.nodes:
        proto = whole.node.add()
        proto.CopyFrom(node.proto)
        del proto.input[:]
        proto.input.extend(node.inputs)
        layer = maker.layer(node).layer
        assert layer is not None, "it has skipped layers"
        for index, name in zip(layer.operators[0].inputs, node.inputs, strict=False):
            if index == OMITTED or not layer.tensors[index].constant or name in weights:
                continue
            known = graph.constants.value(name)
            if layer.tensors[index].value is not None and known is not None:
                whole.initializer.append(numpy_helper.from_array(np.asarray(known), name))
                weights[name] = known
                continue
            tensor = layer.tensors[index]
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
        assert output is not None, "it has an output of unknown type"
        onnx_type = TO_ONNX[output.dtype]
        whole.output.append(helper.make_tensor_value_info(name, onnx_type, output.dims()))
    made = ModelProto(ir_version=model.ir_version, graph=whole, opset_import=model.opset_import)
    return made, {n: a for n, a in weights.items() if n not in written}, inputs


def _input(dtype: str, shape: tuple[int, ...]) -> Array:
    """Random numbers, or, of other types than float32, ones: a token, what a mask lets through."""
    if dtype == "float32":
        return np.random.default_rng(0).random(shape, np.float32)
    return np.ones(shape, dtype)
