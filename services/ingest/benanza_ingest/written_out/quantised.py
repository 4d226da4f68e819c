"""Products of bytes as operators of ONNX that libraries have, such as those that ONNX Runtime
quantises as it runs.

The latter are written as `quantize_dynamic` of ONNX Runtime writes them before they are fused
(onnxruntime/core/optimizer/dynamic_quantize_matmul_fusion.cc, matmul_integer_to_float.cc), so that
their layers are those of models that weren't optimised.
"""

from benanza_ingest.resolving.graph import Node
from benanza_ingest.written_out.writing import WritingOut
from benanza_schemas.element_types import TO_ONNX


def dynamically_quantised(writing: WritingOut, node: Node) -> bool:
    """DynamicQuantizeMatMul: floats times bytes that have a scale."""
    x, weights, of_weights, zero, bias = (*node.inputs, "", "", "")[:5]
    quantised = writing.value(f"{node.title()}/quantised", writing.shape(x), "uint8")
    scale = writing.value(f"{node.title()}/scale", (), "float32")
    point = writing.value(f"{node.title()}/zero", (), "uint8")
    writing.put("DynamicQuantizeLinear", (x,), (quantised, scale, point))
    read = (quantised, weights, point, *((zero,) if zero else ()))
    _scaled(writing, node, read, (scale, of_weights), bias)
    return True


def scaled(writing: WritingOut, node: Node) -> bool:
    """MatMulIntegerToFloat: bytes times bytes, each with a scale; one for all rows."""
    a, b, of_a, of_b, zero_a, zero_b, bias = (*node.inputs, "", "", "")[:7]
    if writing.shape(of_a) not in ((), (1,)):
        return False
    read = (a, b, zero_a, zero_b) if zero_b else (a, b, zero_a) if zero_a else (a, b)
    _scaled(writing, node, read, (of_a, of_b), bias)
    return True


def between_floats(writing: WritingOut, node: Node) -> bool:
    """QLinearMatMul of two matrices that are computed, each with one scale, as the product of
    floats from which ONNX Runtime makes it.
    """
    a, of_a, zero_a, b, of_b, zero_b, of_result, zero = node.inputs
    scales = (of_a, of_b, of_result)
    if writing.is_constant(b) or any(writing.shape(scale) for scale in scales):
        return False
    (result,) = node.outputs
    dtype = writing.dtype(of_a)
    floats = tuple(
        writing.add("DequantizeLinear", read, writing.shape(read[0]), dtype)
        for read in ((a, of_a, zero_a), (b, of_b, zero_b))
    )
    shape = writing.shape(result)
    product = writing.add("MatMul", floats, shape, dtype)
    writing.add("QuantizeLinear", (product, of_result, zero), shape, "", result=result)
    return True


def _scaled(
    writing: WritingOut, node: Node, read: tuple[str, ...], scales: tuple[str, str], bias: str
) -> None:
    """The product of bytes times both scales, of which the second may be by column."""
    (result,) = node.outputs
    shape, dtype = writing.shape(result), writing.dtype(result)
    sums = writing.add("MatMulInteger", read, shape, "int32")
    floats = writing.add("Cast", (sums,), shape, dtype, to=TO_ONNX[dtype])
    by_column = max((writing.shape(name) for name in scales), key=len)
    scale = writing.add("Mul", scales, by_column, dtype)
    product = writing.add("Mul", (floats, scale), shape, dtype, result="" if bias else result)
    if bias:
        writing.add("Add", (product, bias), shape, dtype, result=result)
