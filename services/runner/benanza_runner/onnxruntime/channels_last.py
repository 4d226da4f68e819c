"""Layers whose feature maps have their channels last, as ONNX Runtime runs them on a CPU.

It puts channels last for convolutions of integers, between two Transposes, and moves Transposes, a
model's own as well, through the neighbours as far as it can (onnxruntime/core/optimizer:
nhwc_transformer.cc and transpose_optimization). There a pooling is another operator, and a Softmax
over the channels is one over the last axis, which takes a fraction of the time.
"""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from benanza_runner.onnx_layers.layer_model import LayerModel
from benanza_runner.onnxruntime.graph import as_run
from benanza_runner.onnxruntime.session import CPU
from benanza_schemas.operators.facts import OperatorKind
from benanza_schemas.operators.table import facts_of

LAYOUT = "NHWC"

INTEGERS = frozenset((TensorProto.INT8, TensorProto.UINT8))
ALONG_AXES: frozenset[OperatorKind] = frozenset(("normalisation", "ranking", "reduction"))
IN_SPACE: frozenset[OperatorKind] = ALONG_AXES | {
    *("movement", "pooling", "quantisation", "sampling"),
}
"""Kinds for which it matters where the channels are: of floats, which stay channels first or in
blocks, those with axes, and of integers these as well.
"""


def channels_last(model: LayerModel) -> LayerModel | None:
    """The node that ONNX Runtime makes of another between those whose channels are last.

    It is None if there are no feature maps, if the order makes no difference to the node, or if it
    needs a Transpose in between. Raises whatever ONNX Runtime raises when it refuses the node.
    """
    given, written = (_maps(infos) for infos in (model.proto.graph.input, model.proto.graph.output))
    types = {info.type.tensor_type.elem_type for info in (*given.values(), *written.values())}
    kinds = IN_SPACE if types & INTEGERS else ALONG_AXES
    if len(model.proto.graph.node) != 1 or not given:
        return None
    (node,) = model.proto.graph.node
    kind = facts_of(node.op_type, node.domain).kind
    if kind not in kinds or node.op_type == "Transpose":
        return None
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    graph = proto.graph
    inputs = dict(model.inputs)
    del graph.node[:]
    for info in graph.input:
        if info.name in given:
            first, name = info.name, _last(info.name)
            inputs[name] = np.ascontiguousarray(np.moveaxis(inputs.pop(first), 1, -1))
            rank = len(given[first].type.tensor_type.shape.dim)
            order = [0, rank - 1, *range(1, rank - 1)]
            graph.node.append(helper.make_node("Transpose", [name], [first], perm=order))
            info.CopyFrom(_info(name, given[first]))
    graph.node.append(node)
    for info in graph.output:
        if info.name in written:
            first, name = info.name, _last(info.name)
            rank = len(written[first].type.tensor_type.shape.dim)
            order = [0, *range(2, rank), 1]
            graph.node.append(helper.make_node("Transpose", [first], [name], perm=order))
            info.CopyFrom(_info(name, written[first]))
    with TemporaryDirectory(prefix="benanza-") as folder:
        wrapped = LayerModel(proto, model.constants, inputs)
        made = as_run(wrapped, Path(folder), CPU, optimised=True)
    nodes = made.proto.graph.node
    if len(nodes) != 1:
        return None
    element_wise = kind == "quantisation" and nodes[0].attribute == node.attribute
    return None if element_wise else made


def _maps(infos: Iterable[ValueInfoProto]) -> dict[str, ValueInfoProto]:
    """Copies of those that have channels and more axes, by name."""
    maps = {}
    for info in infos:
        shape = info.type.tensor_type.shape.dim
        if len(shape) > 2 and all(dim.dim_value for dim in shape):
            maps[info.name] = ValueInfoProto()
            maps[info.name].CopyFrom(info)
    return maps


def float_maps(infos: Iterable[ValueInfoProto]) -> tuple[tuple[int, ...], ...]:
    """The shapes of those in floats, with channels first."""
    return tuple(
        tuple(dim.dim_value for dim in info.type.tensor_type.shape.dim)
        for info in _maps(infos).values()
        if info.type.tensor_type.elem_type == TensorProto.FLOAT
    )


def _info(name: str, first: ValueInfoProto) -> ValueInfoProto:
    """The same feature map with its channels last."""
    batch, channels, *space = (dim.dim_value for dim in first.type.tensor_type.shape.dim)
    kind = first.type.tensor_type.elem_type
    return helper.make_tensor_value_info(name, kind, (batch, *space, channels))


def _last(name: str) -> str:
    return f"{name} channels last"
