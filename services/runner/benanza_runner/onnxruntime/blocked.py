"""Layers whose feature maps are in blocks of channels, as ONNX Runtime runs them on a CPU.

With its default options, ONNX Runtime puts feature maps into the layout NCHWc before the first
convolution or pooling: blocks of 8 or 16 channels, and the channels of a block innermost, so that
vector instructions work on a block. They stay so until an operator needs them as ONNX has them.
Its optimiser makes such nodes of `com.microsoft.nchwc`, and fuses more of them than others
(onnxruntime/core/optimizer/nchwc_transformer.cc).
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import IR_VERSION, LayerModel, placeholder
from benanza_runner.onnxruntime.graph import as_run
from benanza_runner.onnxruntime.session import CPU

DOMAIN = "com.microsoft.nchwc"
LAYOUT = "NCHWc"

OPSET = 13

Shape = tuple[int, ...]


@cache
def block_size() -> int:
    """How many channels a block has on this machine; zero if there is no such layout."""
    names = "x", "w", "y"
    shapes = (1, 3, 1, 1), (1, 3, 1, 1), (1, 1, 1, 1)
    x, _, y = (_info(name, shape) for name, shape in zip(names, shapes, strict=True))
    graph = GraphProto(name="one channel", node=[helper.make_node("Conv", names[:2], names[2:])])
    graph.input.append(x)
    graph.output.append(y)
    graph.initializer.append(placeholder("w", TensorProto.FLOAT, shapes[1]))
    proto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    model = LayerModel(proto, {"w": np.ones(shapes[1], np.float32)}, {})
    made = _optimised(model).proto.graph
    filters = {node.input[1] for node in made.node if node.domain == DOMAIN and len(node.input) > 1}
    return sum(tensor.dims[0] for tensor in made.initializer if tensor.name in filters)


def in_memory(shape: Shape) -> Shape:
    """The shape of such feature maps in NCHWc, their last block being padded."""
    size = block_size()
    return shape[0], -(-shape[1] // size) * size, *shape[2:]


def pads(shape: Shape) -> bool:
    """Whether there are more channels in NCHWc."""
    return in_memory(shape) != shape


def moves(shape: Shape) -> bool:
    """Whether the elements lie elsewhere in NCHWc than in NCHW."""
    return shape[2:] != (1, 1) or pads(shape)


def maps(infos: Iterable[ValueInfoProto]) -> dict[str, Shape]:
    """The names and shapes of the feature maps with elements among inputs or outputs."""
    kinds = ((info.name, info.type.tensor_type) for info in infos)
    shapes = (
        (name, tuple(dim.dim_value for dim in kind.shape.dim))
        for name, kind in kinds
        if kind.elem_type == TensorProto.FLOAT
    )
    return {name: shape for name, shape in shapes if len(shape) == 4 and 0 not in shape}


class Blocked(NamedTuple):
    """A layer between others whose feature maps are in NCHWc, as ONNX Runtime runs it.

    `reads` and `writes` are the shapes in NCHW of the feature maps that it has in NCHWc.
    """

    model: LayerModel
    reads: tuple[Shape, ...]
    writes: tuple[Shape, ...]


def blocked(model: LayerModel) -> Blocked | None:
    """The nodes that ONNX Runtime makes of a layer between others whose feature maps are in NCHWc.

    It is None if the layer needs any of them in NCHW, or converts in between, or nothing is in
    NCHWc. Raises whatever ONNX Runtime raises when it refuses the layer.
    """
    results = maps(model.proto.graph.output)
    # A convolution reads fewer channels than a block has as ONNX has them.
    given = {
        name: shape
        for name, shape in maps(model.proto.graph.input).items()
        if shape[1] >= block_size()
    }
    if not block_size() or not (given or results):
        return None
    made = _optimised(_after_convolutions(model, given))
    tokens = _tokens(made.proto.graph, given)
    if tokens is None:
        return None
    before = {_of(name, "given") for name in given}
    made_before = {*tokens.values()}
    nodes = [
        node
        for node in made.proto.graph.node
        if not (before & {*node.input} or made_before & {*node.output})
    ]
    written = {node.output[0]: node.input[0] for node in nodes if _is_order(node, "ReorderOutput")}
    nodes = [node for node in nodes if not _is_order(node, "ReorderOutput")]
    if not (tokens or written) or any(_is(node, "ReorderInput") for node in nodes):
        return None
    inside = {name for node in nodes for name in node.input}
    if {*written} - {*results} or {*written} & inside:
        return None
    cut = _cut(made, model, nodes, {token: name for name, token in tokens.items()}, written)
    return Blocked(cut, (*given.values(),), tuple(results[name] for name in written))


def _after_convolutions(model: LayerModel, given: dict[str, Shape]) -> LayerModel:
    """The layer behind a convolution for each of its feature maps, whose result is in blocks.

    The convolution reads one block of channels, so that there may be any number of them. Its
    activation keeps the optimiser from fusing it with what is in the layer.
    """
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    graph = proto.graph
    nodes, filters = [], {}
    for info in graph.input:
        name = info.name
        if name in given:
            batch, channels, *space = given[name]
            filters[_of(name, "filter")] = np.ones((channels, block_size(), 1, 1), np.float32)
            read = _of(name, "given"), _of(name, "filter")
            nodes.append(helper.make_node("Conv", read, [_of(name, "plain")]))
            nodes.append(helper.make_node("LeakyRelu", [_of(name, "plain")], [name], alpha=0.5))
            info.CopyFrom(_info(read[0], (batch, block_size(), *space)))
    nodes.extend(graph.node)
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend(
        placeholder(name, TensorProto.FLOAT, array.shape) for name, array in filters.items()
    )
    return LayerModel(proto, model.constants | filters, model.inputs)


def _of(name: str, what: str) -> str:
    return f"{name}/{what}"


def _optimised(model: LayerModel) -> LayerModel:
    with TemporaryDirectory(prefix="benanza-") as folder:
        return as_run(model, Path(folder), CPU, optimised=True, in_blocks=True)


def _tokens(graph: GraphProto, given: dict[str, Shape]) -> dict[str, str] | None:
    """The name that each of the feature maps has in NCHWc; None if any is read in NCHW."""
    tokens = {}
    for name in given:
        starts = {
            node.output[0]
            for node in graph.node
            if _is(node, "ReorderInput") and node.input[0] == _of(name, "given")
        }
        convolutions = [
            node.output[0] for node in graph.node if _is(node, "Conv") and node.input[0] in starts
        ]
        if len(convolutions) != 1:
            return None
        tokens[name] = convolutions[0]
    plain = {node.input[0] for node in graph.node if _is_order(node, "ReorderOutput")}
    return None if plain & {*tokens.values()} else tokens


def _is_order(node: NodeProto, op_type: str) -> bool:
    """Whether the node converts from or to NCHW. Transposes are made conversions from NHWC."""
    orders = (a.i for a in node.attribute if a.name == "channels_last")
    return _is(node, op_type) and not any(orders)


def _is(node: NodeProto, op_type: str) -> bool:
    return bool(node.domain == DOMAIN and node.op_type == op_type)


def _cut(
    made: LayerModel,
    model: LayerModel,
    nodes: list[NodeProto],
    tokens: dict[str, str],
    outputs: dict[str, str],
) -> LayerModel:
    """A model of these nodes alone. `tokens` and `outputs` name feature maps in NCHWc."""
    read = {name for node in nodes for name in node.input}
    graph = GraphProto(name="layer", node=nodes)
    inputs: dict[str, Array] = {}
    for token, name in tokens.items():
        if token in read:
            array = model.inputs[name]
            inputs[token] = np.resize(array, in_memory(array.shape))
            graph.input.append(_info(token, inputs[token].shape))
    for info in made.proto.graph.input:
        if info.name in read:
            graph.input.append(info)
            inputs[info.name] = model.inputs[info.name]
    for info in model.proto.graph.output:
        name = outputs.get(info.name, info.name)
        shape = tuple(dim.dim_value for dim in info.type.tensor_type.shape.dim)
        graph.output.append(info if name == info.name else _info(name, in_memory(shape)))
    graph.initializer.extend(
        tensor for tensor in made.proto.graph.initializer if tensor.name in read
    )
    proto = ModelProto(ir_version=made.proto.ir_version, graph=graph)
    proto.opset_import.extend(made.proto.opset_import)
    constants = {name: array for name, array in made.constants.items() if name in read}
    return LayerModel(proto, constants, inputs)


def _info(name: str, shape: Shape) -> ValueInfoProto:
    info: ValueInfoProto = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    return info
