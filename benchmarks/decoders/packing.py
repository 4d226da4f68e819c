"""Graphs whose weights of products have 4 or 8 bits, made of graphs of floats without weights.

With 4 bits a product is ONNX Runtime's `MatMulNBits`; with 8 its weights are behind a
`DequantizeLinear` with a scale for each channel: so exporters write both.
"""

from typing import Any

import onnx_ir

BLOCK = 32
"""Weights of 4 bits that share a scale."""

OWN_DOMAIN = "com.microsoft"


def pack(model: onnx_ir.Model, bits: int) -> int:
    """Changes all products with transposed weights, and returns how many these are."""
    count = 0
    for node in list(model.graph):
        turned = node.inputs[1].producer() if node.op_type == "MatMul" else None
        weight = turned.inputs[0] if turned is not None and turned.op_type == "Transpose" else None
        if weight is None or not weight.is_initializer():
            continue
        count += 1
        if bits == 4:
            _pack_four(model, node, weight)
        else:
            _scale(model, turned, weight)
    if bits == 4:
        model.graph.opset_imports[OWN_DOMAIN] = 1
    return count


def _pack_four(model: onnx_ir.Model, node: Any, weight: Any) -> None:
    rows, depth = weight.shape
    blocks = depth // BLOCK
    name = f"{node.name} {weight.name}"
    packed = _given(model, f"{name} packed", onnx_ir.DataType.UINT8, (rows, blocks, BLOCK // 2))
    scales = _given(model, f"{name} scales", weight.dtype, (rows, blocks))
    sizes = {"K": depth, "N": rows, "bits": 4, "block_size": BLOCK}
    inputs = [node.inputs[0], packed, scales]
    _instead(model, node, onnx_ir.node("MatMulNBits", inputs, sizes, domain=OWN_DOMAIN))


def _scale(model: onnx_ir.Model, turned: Any, weight: Any) -> None:
    name = f"{turned.name} {weight.name}"
    integers = _given(model, f"{name} integers", onnx_ir.DataType.INT8, weight.shape)
    scales = _given(model, f"{name} scales", weight.dtype, weight.shape[:1])
    scaled = onnx_ir.node("DequantizeLinear", [integers, scales], {"axis": 0})
    model.graph.insert_before(turned, scaled)
    turned.replace_input_with(0, scaled.outputs[0])


def _given(model: onnx_ir.Model, name: str, dtype: Any, shape: Any) -> Any:
    """A weight that the file names and doesn't hold."""
    sizes = onnx_ir.Shape(shape)
    tensor = onnx_ir.ExternalTensor("weights.data", 0, None, dtype, shape=sizes, name=name)
    value = onnx_ir.Value(
        name=name, type=onnx_ir.TensorType(dtype), shape=sizes, const_value=tensor
    )
    model.graph.register_initializer(value)
    return value


def _instead(model: onnx_ir.Model, node: Any, other: Any) -> None:
    model.graph.insert_before(node, other)
    result, made = node.outputs[0], other.outputs[0]
    made.type, made.shape = result.type, result.shape
    made.name = result.name
    onnx_ir.convenience.replace_all_uses_with(result, made, replace_graph_outputs=True)
    model.graph.remove(node, safe=True)
