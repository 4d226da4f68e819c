"""Which calls of cuDNN and cuBLAS the paper of 2020 times for a layer, with their sizes.

The published look-up takes the fastest benchmark of a call with these sizes, whatever its mode:
for a Relu also that of a clipped one, for a batch normalisation also that by activations. It also
takes a size of zero, such as no padding, for any; here, sizes have to be the same.
"""

from collections.abc import Callable, Mapping

from benanza_schemas.layer import AttributeValue, Layer, Operator
from study.paper2020.results import ApiCall

Calls = tuple[ApiCall, ...]
Shape = tuple[int, ...]

COMBINED = {"Add": "ADD", "Sum": "ADD", "Sub": "ADD", "Mul": "MUL", "Min": "MIN", "Max": "MAX"}
PLAIN_PRODUCT: Mapping[str, AttributeValue] = {"alpha": 1, "beta": 0, "transA": 0, "transB": 0}
"""What a MatMul is as a Gemm."""


EPILOGUES = (["BatchNormalization"], ["Relu"], ["BatchNormalization", "Relu"])
"""What may follow a convolution within the call that fuses a bias and an activation: what batch
normalisation does is in the filter and the bias."""


def calls_of(layer: Layer) -> Calls | str:
    """The calls whose times add up to those of the layer or group, or why there are none."""
    operator = layer.operators[0]
    if len(layer.outputs) > 1:
        return "only one result has a benchmark"
    if "float" not in layer.tensors[operator.inputs[0]].dtype:
        return "only floating-point numbers have benchmarks"
    names = [op.op_type for op in layer.operators]
    if len(names) > 1:
        return _fused(layer, names)
    how = OPERATORS.get(operator.op_type)
    if operator.domain not in ("", "ai.onnx") or how is None:
        return f"{operator.op_type} has no benchmark"
    return how(layer, operator)


def _fused(layer: Layer, names: list[str]) -> Calls | str:
    if names[0] != "Conv" or names[1:] not in EPILOGUES:
        return "of the groups, only a convolution, batch normalisation and Relu have a benchmark"
    convolution = _convolution(layer, layer.operators[0])
    if isinstance(convolution, str):
        return convolution
    activation = "RELU" if names[-1] == "Relu" else "IDENTITY"
    return (ApiCall(f"CONV_BIAS_ACTIVATION_FWD {activation}", convolution[0].sizes),)


def _convolution(layer: Layer, operator: Operator) -> Calls | str:
    image, filters = (_shape(layer, index) for index in operator.inputs[:2])
    if len(image) != 4:
        return "only images have benchmarks"
    window = _window(operator)
    if isinstance(window, str):
        return window
    given = _attributes(operator)
    dilations, group = _sizes(given["dilations"]), _whole(given["group"])
    kernel, pads, strides = window
    sizes = (*image, filters[0], *kernel, *pads, *strides, *dilations, group)
    calls = [ApiCall("CONV_FWD", sizes)]
    if len(operator.inputs) > 2:
        result = _shape(layer, operator.outputs[0])
        calls.append(ApiCall("ADD_TENSOR", (*result, 1, result[1], 1, 1)))
    return tuple(calls)


def _pooling(layer: Layer, operator: Operator) -> Calls | str:
    image = _shape(layer, operator.inputs[0])
    if len(image) != 4:
        return "only images have benchmarks"
    window = _window(operator)
    if isinstance(window, str):
        return window
    given = _attributes(operator)
    if given.get("ceil_mode") or set(_sizes(given.get("dilations", (1,)))) != {1}:
        return "poolings that round up or are dilated have no benchmark"
    return (ApiCall("POOLING_FWD", (*image, *(size for part in window for size in part))),)


def _of_first_input(name: str) -> Callable[[Layer, Operator], Calls]:
    def calls(layer: Layer, operator: Operator) -> Calls:
        return (ApiCall(name, _shape(layer, operator.inputs[0])),)

    return calls


def _combination(layer: Layer, operator: Operator) -> Calls | str:
    """The benchmarks are of operands of the same size, and take a repeated operand for such."""
    if len(operator.inputs) != 2:
        return "only two operands have a benchmark"
    result = _shape(layer, operator.outputs[0])
    if _shape(layer, operator.inputs[0]) != result:
        return "the first operand is repeated"
    return (ApiCall(f"OP_TENSOR_{COMBINED[operator.op_type]}_FWD", result),)


def _product(layer: Layer, operator: Operator) -> Calls | str:
    """A product of matrices; of a vector and a matrix if the result has one row or column."""
    left, right = (_shape(layer, index) for index in operator.inputs[:2])
    if len(left) != 2 or len(right) != 2:
        return "only products of two matrices have benchmarks"
    given = {**PLAIN_PRODUCT, **_attributes(operator)}
    alpha, beta, turned_left, turned_right = (_whole(given[name]) for name in PLAIN_PRODUCT)
    rows, inner = reversed(left) if turned_left else left
    columns = right[0] if turned_right else right[1]
    if 1 in (rows, columns):
        length = columns if rows == 1 else rows
        return (ApiCall("GEMV_FWD", (length, inner, turned_right, alpha, beta, 0, 0)),)
    sizes = (rows, columns, inner, turned_left, turned_right, alpha, beta)
    return (ApiCall("GEMM_FWD", sizes),)


OPERATORS: Mapping[str, Callable[[Layer, Operator], Calls | str]] = {
    "Conv": _convolution,
    "MaxPool": _pooling,
    "AveragePool": _pooling,
    "Gemm": _product,
    "MatMul": _product,
    "BatchNormalization": _of_first_input("BATCHNORM_FWD_INFERENCE"),
    "Softmax": _of_first_input("SOFTMAX_FWD"),
    "Dropout": _of_first_input("DROPOUT_FWD"),
    **dict.fromkeys(
        ("Relu", "LeakyRelu", "PRelu", "Sigmoid", "Tanh"), _of_first_input("ACTIVATION_FWD")
    ),
    **dict.fromkeys(COMBINED, _combination),
}


def _window(operator: Operator) -> tuple[Shape, Shape, Shape] | str:
    """The sizes of a window, its padding and its strides."""
    given = _attributes(operator)
    kernel, pads, strides = (_sizes(given[name]) for name in ("kernel_shape", "pads", "strides"))
    begin, end = pads[: len(kernel)], pads[len(kernel) :]
    return (kernel, begin, strides) if begin == end else "paddings of both ends differ"


def _shape(layer: Layer, index: int) -> Shape:
    return layer.tensors[index].shape


def _attributes(operator: Operator) -> dict[str, AttributeValue]:
    return {attribute.name: attribute.value for attribute in operator.attributes}


def _sizes(value: AttributeValue) -> Shape:
    assert isinstance(value, tuple), "ONNX says so"
    return tuple(int(size) for size in value)


def _whole(value: AttributeValue) -> int:
    """The number without its fraction, as benchmarks name it."""
    assert isinstance(value, int | float), "ONNX says so"
    return int(value)
