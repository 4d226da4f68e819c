"""Views at the ends of what ONNX Runtime makes of a group.

Of a MatMul and an Add it makes a Gemm, which has two axes, between two Reshapes. Within a model
these start nothing: the result of a Reshape is the same memory. At the end of a model it would be a
copy.
"""

from collections import Counter

import onnxruntime as ort
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import LayerModel
from benanza_runner.onnxruntime.session import Provider, session_options


def without_end_views(model: LayerModel, provider: Provider) -> LayerModel:
    """The model without Reshapes of its inputs and to its outputs, which have other shapes then.

    A model of nothing else stays as it is. Raises whatever ONNX Runtime raises when it refuses the
    model.
    """
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    inputs = _without_first(proto, model.inputs)
    changes_outputs = _without_last(proto, inputs)
    if not proto.graph.node:
        return model
    if changes_outputs:
        _state_outputs(proto, model.constants, provider)
    return LayerModel(proto, model.constants, inputs)


def _without_first(proto: ModelProto, given: dict[str, Array]) -> dict[str, Array]:
    """Drops the Reshapes of inputs that nothing else reads, and returns the inputs then."""
    graph = proto.graph
    read, written = _read(proto), {info.name for info in graph.output}
    shapes = {
        tensor.name: numpy_helper.to_array(tensor).tolist()
        for tensor in graph.initializer
        if tensor.data_type == TensorProto.INT64 and tensor.data_location != TensorProto.EXTERNAL
    }
    reshapes = {
        node.input[0]: node
        for node in _reshapes(proto)
        if read[node.input[0]] == 1 and node.input[1] in shapes and node.output[0] not in written
    }
    inputs = {}
    for info in graph.input:
        array, node = given[info.name], reshapes.get(info.name)
        if node is not None:
            array = array.reshape(_shape(node, array.shape, shapes[node.input[1]]))
            kind = info.type.tensor_type.elem_type
            info.CopyFrom(helper.make_tensor_value_info(node.output[0], kind, array.shape))
            graph.node.remove(node)
        inputs[info.name] = array
    return inputs


def _without_last(proto: ModelProto, inputs: dict[str, Array]) -> bool:
    """Drops the Reshapes to outputs that nothing else reads; returns whether there were any. The
    outputs have no shapes then.
    """
    graph = proto.graph
    read, written = _read(proto), {info.name for info in graph.output}
    reshapes = {
        node.output[0]: node
        for node in _reshapes(proto)
        if read[node.input[0]] == 1
        and not read[node.output[0]]
        and node.input[0] not in inputs.keys() | written
    }
    found = [info for info in graph.output if info.name in reshapes]
    for info in found:
        node = reshapes[info.name]
        kind = info.type.tensor_type.elem_type
        info.CopyFrom(helper.make_tensor_value_info(node.input[0], kind, None))
        graph.node.remove(node)
    return bool(found)


def _state_outputs(proto: ModelProto, constants: dict[str, Array], provider: Provider) -> None:
    """Gives the outputs the shapes that ONNX Runtime infers."""
    session = ort.InferenceSession(
        proto.SerializeToString(),
        session_options(constants, provider, threads=1),
        providers=[(provider.name, dict(provider.options))],
    )
    for info, found in zip(proto.graph.output, session.get_outputs(), strict=True):
        kind = info.type.tensor_type.elem_type
        info.CopyFrom(helper.make_tensor_value_info(info.name, kind, found.shape))


def _reshapes(proto: ModelProto) -> list[NodeProto]:
    return [node for node in proto.graph.node if node.op_type == "Reshape" and not node.domain]


def _read(proto: ModelProto) -> Counter[str]:
    """How often each value is read."""
    return Counter(name for node in proto.graph.node for name in node.input)


def _shape(node: NodeProto, own: tuple[int, ...], wanted: list[int]) -> list[int]:
    """The shape that a Reshape wants, in which -1 stands for the rest, as in NumPy."""
    if any(attribute.name == "allowzero" and attribute.i for attribute in node.attribute):
        return wanted
    return [own[at] if size == 0 else size for at, size in enumerate(wanted)]
