"""Derived graphs with numbers: what quantisers would have written."""

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from benanza_ingest.deriving.derive import derived
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import opset_imports, parse
from benanza_ingest.resolving.bind import bind
from benanza_ingest.resolving.graph import Graph
from benanza_ingest.resolving.resolve import resolve
from benanza_runner.onnxruntime.session import CPU
from benanza_schemas.events.derivation import Derivation

Array = npt.NDArray[Any]

OPSET = 21
GREATEST = {"int8": 127.0, "fp8": 448.0}
BLOCK = 32


def graph_of(model: onnx.ModelProto, derivation: Derivation) -> tuple[Graph, tuple[str, ...]]:
    """What becomes of the model, and the notes on that."""
    limits = Limits()
    parsed = parse(model.SerializeToString(), limits)
    graph = resolve(parsed, bind(parsed, None, {}), limits)
    made = derived(graph, derivation, opset_imports(parsed))
    return made.graph, made.notes


def quantised(model: onnx.ModelProto, to: Any, feeds: Mapping[str, Array]) -> onnx.ModelProto:
    """The derived model with its weights quantised, and scales of data from these inputs."""
    graph, _ = graph_of(model, Derivation(to))
    given = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    seen = given | dict(feeds) | values(model, feeds)
    by_row = {node.name: node_integer(node, "transB") for node in model.graph.node}
    constants: dict[str, Array] = {}
    for node in graph.nodes:
        for name in node.inputs:
            if name in given:
                constants[name] = given[name]
            elif name.startswith("zero point"):
                zero = graph.constants.value(name)
                assert zero is not None
                constants[name] = zero
            elif name.endswith("/row"):
                constants[name] = given[name.removesuffix("/row")].reshape(-1)
        if node.op_type == "MatMulNBits":
            _, packed, scales = node.inputs[:3]
            weights = given[packed.removesuffix("/packed")]
            rows = weights if by_row[node.name] else weights.T
            constants[packed], constants[scales] = in_four_bits(rows)
        elif node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            small, scale = node.inputs[:2]
            of = scale.removesuffix("/scale")
            axes = [
                axis for axis in range(seen[of].ndim) if axis != node_integer(node.proto, "axis")
            ]
            whole = node_integer(node.proto, "axis") is None
            most = np.abs(seen[of]).max(axis=None if whole else tuple(axes))
            constants[scale] = np.asarray(most / GREATEST[to], seen[of].dtype)
            if node.op_type == "DequantizeLinear" and of in given:
                shape = [1 if axis in axes else size for axis, size in enumerate(seen[of].shape)]
                divided = given[of] / constants[scale].reshape([] if whole else shape)
                constants[small] = (
                    np.rint(divided).astype(np.int8)
                    if to == "int8"
                    else divided.astype(ml_dtypes.float8_e4m3fn)
                )
    for name, array in constants.items():
        known = graph.constants.type_of(name)
        assert known is not None, name
        assert known.dims() == array.shape, name
    return with_constants(model, graph, constants)


def with_constants(
    model: onnx.ModelProto, graph: Graph, constants: Mapping[str, Array]
) -> onnx.ModelProto:
    """The graph as a model with these constants, and the inputs and outputs of another."""
    nodes = []
    for node in graph.nodes:
        proto = onnx.NodeProto()
        proto.CopyFrom(node.proto)
        proto.ClearField("input")
        proto.ClearField("output")
        proto.input.extend(node.inputs)
        proto.output.extend(node.outputs)
        nodes.append(proto)
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    given = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in given]
    made = helper.make_graph(nodes, "g", inputs, list(model.graph.output), tensors)
    imports = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=imports, ir_version=10)


def in_four_bits(rows: Array) -> tuple[Array, Array]:
    """Rows of weights as `MatMulNBits` reads them, and the scales of blocks."""
    blocks = rows.reshape(len(rows), -1, BLOCK)
    scales = np.abs(blocks).max(axis=2) / 7
    small = (np.rint(blocks / scales[:, :, None]) + 8).astype(np.uint8)
    return small[:, :, 0::2] | small[:, :, 1::2] << 4, scales.astype(rows.dtype)


def node_integer(proto: onnx.NodeProto, name: str) -> int | None:
    """An attribute; None if the node doesn't have it."""
    return next((attribute.i for attribute in proto.attribute if attribute.name == name), None)


def values(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """All that the model computes from these inputs."""
    whole = onnx.shape_inference.infer_shapes(model)
    known = {value.name for value in whole.graph.output}
    whole.graph.output.extend(v for v in whole.graph.value_info if v.name not in known)
    return run(whole, feeds)


def run(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The results of the model in ONNX Runtime, by name."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=[CPU.name])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))
