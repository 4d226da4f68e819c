"""Views at the ends of what ONNX Runtime makes of a group, and changes of the layout.

Of a MatMul and an Add it makes a Gemm, which has two axes, between two Reshapes. Within a model
these start nothing: the result of a Reshape is the same memory. At the end of a model it would be a
copy. It puts channels last for a convolution of integers, between two Transposes: within a model
they are only where such convolutions begin and end, and a bound counts none of them. What was put
around the group to make it run as within a model is taken off again, too.
"""

from collections import Counter
from collections.abc import Set

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import LayerModel
from benanza_runner.onnxruntime.session import Provider, session_options


def without_end_views(
    model: LayerModel, provider: Provider, left_out: Set[str] = frozenset(("Reshape",))
) -> LayerModel:
    """The model without operators of these types that read its inputs or write its outputs, which
    have other shapes or types then: Reshape, and where they are no part of the group itself,
    Transpose, QuantizeLinear at the inputs and DequantizeLinear at the outputs.

    A model of nothing else stays as it is. Raises whatever ONNX Runtime raises when it refuses the
    model.
    """
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    inputs, changes_outputs, nodes = model.inputs, False, -1
    while nodes != len(proto.graph.node):
        nodes = len(proto.graph.node)
        inputs = _without_first(proto, inputs, left_out - {"DequantizeLinear"})
        changes_outputs |= _without_last(proto, inputs, left_out - {"QuantizeLinear"})
    if not proto.graph.node:
        return model
    if changes_outputs:
        _state_outputs(proto, model.constants, provider)
    return LayerModel(proto, model.constants, inputs)


def _without_first(
    proto: ModelProto, given: dict[str, Array], left_out: Set[str]
) -> dict[str, Array]:
    """Drops the views of inputs that nothing else reads, and returns the inputs then."""
    graph = proto.graph
    read, written = _read(proto), {info.name for info in graph.output}
    shapes = {
        tensor.name: numpy_helper.to_array(tensor).tolist()
        for tensor in graph.initializer
        if tensor.data_type == TensorProto.INT64 and tensor.data_location != TensorProto.EXTERNAL
    }
    views = {
        node.input[0]: node
        for node in _views(proto, left_out)
        if read[node.input[0]] == 1
        and node.output[0] not in written
        and (node.op_type != "Reshape" or node.input[1] in shapes)
    }
    inputs = {}
    for info in graph.input:
        array, node = given[info.name], views.get(info.name)
        if node is not None:
            kind = info.type.tensor_type.elem_type
            match node.op_type:
                case "Transpose":
                    array = np.ascontiguousarray(array.transpose(_order(node)))
                case "QuantizeLinear":
                    kind = _integer(proto, node)
                    array = array.astype(helper.tensor_dtype_to_np_dtype(kind))
                case _:
                    array = array.reshape(_shape(node, array.shape, shapes[node.input[1]]))
            info.CopyFrom(helper.make_tensor_value_info(node.output[0], kind, array.shape))
            graph.node.remove(node)
        inputs[info.name] = array
    return inputs


def _without_last(proto: ModelProto, inputs: dict[str, Array], left_out: Set[str]) -> bool:
    """Drops the views that are outputs that nothing else reads; returns whether there were any. The
    outputs have no shapes then.
    """
    graph = proto.graph
    read, written = _read(proto), {info.name for info in graph.output}
    views = {
        node.output[0]: node
        for node in _views(proto, left_out)
        if read[node.input[0]] == 1
        and not read[node.output[0]]
        and node.input[0] not in inputs.keys() | written
    }
    outputs = [info for info in graph.output if info.name in views]
    for info in outputs:
        node = views[info.name]
        scaled = node.op_type == "DequantizeLinear"
        kind = _integer(proto, node) if scaled else info.type.tensor_type.elem_type
        info.CopyFrom(helper.make_tensor_value_info(node.input[0], kind, None))
        graph.node.remove(node)
    return bool(outputs)


def _state_outputs(proto: ModelProto, constants: dict[str, Array], provider: Provider) -> None:
    """Gives the outputs the shapes that ONNX Runtime infers."""
    session = ort.InferenceSession(
        proto.SerializeToString(),
        session_options(constants, provider, threads=1),
        providers=[(provider.name, dict(provider.options))],
    )
    for info, inferred in zip(proto.graph.output, session.get_outputs(), strict=True):
        kind = info.type.tensor_type.elem_type
        info.CopyFrom(helper.make_tensor_value_info(info.name, kind, inferred.shape))


def _views(proto: ModelProto, types: Set[str]) -> list[NodeProto]:
    return [node for node in proto.graph.node if node.op_type in types]


def _integer(proto: ModelProto, node: NodeProto) -> int:
    """The type of the integers of a QuantizeLinear or DequantizeLinear: that of its zero point."""
    types = {tensor.name: tensor.data_type for tensor in proto.graph.initializer}
    return types.get(node.input[2], 0) if len(node.input) > 2 else int(TensorProto.UINT8)


def _order(node: NodeProto) -> list[int] | None:
    """The order of a Transpose's axes; None, as in NumPy, for the reverse."""
    return next((list(a.ints) for a in node.attribute if a.name == "perm"), None)


def _read(proto: ModelProto) -> Counter[str]:
    """How often each value is read."""
    return Counter(name for node in proto.graph.node for name in node.input)


def _shape(node: NodeProto, own: tuple[int, ...], wanted: list[int]) -> list[int]:
    """The shape that a Reshape wants, in which -1 stands for the rest, as in NumPy."""
    if any(attribute.name == "allowzero" and attribute.i for attribute in node.attribute):
        return wanted
    return [own[axis] if size == 0 else size for axis, size in enumerate(wanted)]
