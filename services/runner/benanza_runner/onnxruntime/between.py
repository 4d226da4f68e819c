"""What works on signed integers, between the operators that make these of floats and floats of
them.

On x86, ONNX Runtime has faster kernels for unsigned integers, and makes such of the signed ones
between a QuantizeLinear and a DequantizeLinear (optimizer/qdq_transformer/qdq_s8_to_u8.cc). Where a
model reads and writes integers, as a layer alone does, it can't.
"""

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from benanza_runner.onnx_layers.layer_model import LayerModel

QUANTISE = "QuantizeLinear"
DEQUANTISE = "DequantizeLinear"


def between_floats(model: LayerModel) -> LayerModel | None:
    """The model with a QuantizeLinear before each DequantizeLinear of a signed input, and a
    DequantizeLinear behind each QuantizeLinear to a signed output. None if it has no such input.
    """
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    graph = proto.graph
    first = {node.input[0]: node for node in graph.node if node.op_type == DEQUANTISE}
    last = {node.output[0]: node for node in graph.node if node.op_type == QUANTISE}
    inputs = {}
    before, behind = [], []
    for info in graph.input:
        array, name = model.inputs[info.name], info.name
        if name in first and info.type.tensor_type.elem_type == TensorProto.INT8:
            before.append(_scaled(QUANTISE, first[name], f"{name}/float", name))
            info.name = f"{name}/float"
            info.type.tensor_type.elem_type = TensorProto.FLOAT
            array = array.astype(np.float32)
        inputs[info.name] = array
    if not before:
        return None
    for info in graph.output:
        name = info.name
        if name in last and info.type.tensor_type.elem_type == TensorProto.INT8:
            behind.append(_scaled(DEQUANTISE, last[name], name, f"{name}/float"))
            info.name = f"{name}/float"
            info.type.tensor_type.elem_type = TensorProto.FLOAT
    nodes = [*before, *graph.node, *behind]
    del graph.node[:]
    graph.node.extend(nodes)
    return LayerModel(proto, model.constants, inputs)


def _scaled(op_type: str, like: NodeProto, source: str, target: str) -> NodeProto:
    """The node with the scale and the zero point of another."""
    read = [source, *like.input[1:]]
    node: NodeProto = helper.make_node(op_type, read, [target], domain=like.domain)
    node.attribute.extend(attribute for attribute in like.attribute if attribute.name == "axis")
    return node
