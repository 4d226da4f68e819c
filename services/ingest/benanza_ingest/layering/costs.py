"""Operations, bytes and parameters of a layer.

An operation is an addition, a multiplication, a comparison or the evaluation of a function for one
element; a multiply-add counts as two. A bias costs none: it is the initial value of a sum of
products. For operators that need several operations for each element, the number follows from
their definition in ONNX's documentation of operators (`benanza_schemas.operators`).
"""

from math import log2, prod

from benanza_ingest.errors import ModelError
from benanza_ingest.layering.attended import standard
from benanza_ingest.layering.einsum import einsum_flops
from benanza_ingest.layering.onnxruntime_flops import (
    causal_flops,
    linear_attention_flops,
    own_flops,
    per_element,
    rotation_flops,
)
from benanza_ingest.layering.operator_values import elements as known_elements
from benanza_ingest.layering.packed import unpacked
from benanza_ingest.layering.touched import touched
from benanza_schemas.element_types import size_bytes
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.onnxruntime import is_own_operator
from benanza_schemas.operators.table import RESHAPING

_POINTS = {"nearest": 1, "bilinear": 2, "linear": 2, "bicubic": 4, "cubic": 4}
"""How many elements along an axis make one of a sampled image."""

_SAMPLE = 8
"""Operations of a sample between four elements: weights times elements, their sum, and the mean."""

MAX_OPERATIONS = 2**60
"""More must be an error: they would take an accelerator ten minutes."""


def flops(layer: Layer) -> int:
    """The number of operations of a layer.

    Raises `ModelError` for more than `MAX_OPERATIONS`, and `ValueError` if a size is negative.
    """
    operations = sum([operator_flops(layer, operator) for operator in layer.operators])
    if operations < 0:
        raise ValueError("a size is negative")
    if operations > MAX_OPERATIONS:
        raise ModelError(
            f"a layer ({layer.title()}) takes more than 2^60 operations; check the model's "
            "dimensions"
        )
    return operations


def moved_bytes(layer: Layer) -> int:
    """The bytes that a layer moves: each input is read once, each output is written once.

    Values inside a group of operators are not moved. Where an operator touches only a part of a
    tensor, as a Gather or a convolution with strides does, that part counts.
    """
    sizes = [size_bytes(tensor.dtype, prod(tensor.shape)) for tensor in layer.tensors]
    if len(layer.operators) > 1:
        written = {index for operator in layer.operators for index in operator.outputs}
        for index in written.difference(layer.outputs, (OMITTED,)):
            sizes[index] = 0
    return sum(sizes) - _left_alone(layer, sizes)


def parameters(layer: Layer) -> int:
    """The number of elements of the constant inputs, without those that decide shapes or axes. Of
    packed ones those count that stand in them. Raises `ValueError` if a size is negative.
    """
    sizes = {
        place: prod(tensor.shape)
        for place, tensor in enumerate(layer.tensors)
        if tensor.constant and tensor.value is None
    }
    for operator in layer.operators:
        for place, numbers in unpacked(layer, operator).items():
            if place in sizes:
                sizes[place] = numbers
    if min(sizes.values(), default=0) < 0:
        raise ValueError("a size is negative")
    return sum(sizes.values())


def _left_alone(layer: Layer, sizes: list[int]) -> int:
    """The bytes of those tensors of which each operator that reads or writes them touches only a
    part. What is only seen in another shape within the layer, or dequantised with one scale, is the
    tensor that is read so.
    """
    whole = {OMITTED}
    parts: dict[int, int] = {}
    seen: dict[int, int] = {}
    for operator in layer.operators:
        if _is_as_stored(layer, operator) and operator.outputs[0] not in layer.outputs:
            source, *told = operator.inputs
            seen[operator.outputs[0]] = seen.get(source, source)
            whole.update(told)
            continue
        part = touched(layer, operator)
        others = set(operator.inputs).union(operator.outputs).difference(part)
        whole.update(seen.get(index, index) for index in others)
        for index, elements in part.items():
            place = seen.get(index, index)
            size = size_bytes(layer.tensors[place].dtype, elements)
            parts[place] = parts.get(place, 0) + size
    return sum([max(0, sizes[i] - size) for i, size in parts.items() if i not in whole])


def _is_as_stored(layer: Layer, operator: Operator) -> bool:
    """Whether each element of a result follows from the one at the same place of what is stored."""
    if operator.domain:
        return False
    if operator.op_type == "DequantizeLinear":
        return prod(layer.tensors[operator.inputs[1]].shape) == 1
    return operator.op_type in RESHAPING


def operator_flops(layer: Layer, operator: Operator) -> int:
    """The number of operations of one of a layer's operators."""
    if is_own_operator(operator.op_type, operator.domain):
        return own_flops(layer, operator)
    tensors = layer.tensors
    shapes = [() if i == OMITTED else tensors[i].shape for i in operator.inputs]
    written = [i for i in operator.outputs if i != OMITTED]
    output = tensors[written[0]].shape if written else ()
    elements = prod(output)
    match operator.op_type:
        case "BatchNormalization" if operator.attribute("training_mode"):
            return elements * 7
        case "Dropout" if _is_true(layer, operator, 2):
            return elements * 2  # a comparison and a scale
        case "Conv" | "ConvInteger" | "DeformConv":
            return 2 * elements * prod(shapes[1][1:])
        case "QLinearConv":
            return 2 * elements * prod(shapes[3][1:])
        case "ConvTranspose":
            return 2 * prod(shapes[0]) * prod(shapes[1][1:])
        case "Gemm":
            inner = shapes[0][0] if operator.attribute("transA") else shapes[0][-1]
            return 2 * elements * inner
        case "MatMul" | "MatMulInteger" | "QLinearMatMul":
            return 2 * elements * (shapes[0][-1] if shapes[0] else 1)
        case "Einsum":
            return einsum_flops(str(operator.attribute("equation")), shapes)
        case "LinearAttention":
            return linear_attention_flops(operator, shapes, (output,))
        case "CausalConvWithState":
            return causal_flops(operator, shapes, (output,))
        case "RotaryEmbedding":
            return rotation_flops(layer, operator, 1)
        case "Attention":
            return _attention_flops(layer, operator, shapes, output)
        case "LSTM" | "GRU" | "RNN":
            return _recurrent_flops(operator.op_type, shapes)
        case "MaxPool" | "AveragePool" | "LpPool":
            return elements * prod(operator.integers("kernel_shape"))
        case "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool":
            return prod(shapes[0])
        case "LRN":
            size = operator.attribute("size")
            return elements * ((size if isinstance(size, int) else 1) + 4)
        case "TopK" | "Hardmax":
            return prod(shapes[0])
        case "SoftmaxCrossEntropyLoss":
            return 5 * prod(shapes[0]) + prod(shapes[1])
        case "Det":
            return prod(shapes[0][:-1]) * 2 * shapes[0][-1] ** 2 // 3
        case "DFT":
            return _fourier(_axis(layer, operator), shapes[0], output)
        case "STFT":
            half = 2 if operator.attribute("onesided") else 1
            return prod(output[:2]) * _fast(half * output[2])
        case "GridSample":
            along = _POINTS.get(str(operator.attribute("mode")), 2)
            return elements * 2 * prod([along] * (len(output) - 2))
        case "RoiAlign":
            samples = max(1, operator.integer("sampling_ratio"))
            return elements * _SAMPLE * samples * samples
        case name if name.startswith(("Reduce", "Arg", "CumSum")):
            return prod(shapes[0])
        case "Sum" | "Mean" | "Max" | "Min":
            return elements * max(1, len(operator.inputs) - 1)
        case "Dropout":
            return 0
        case name:
            return elements * per_element(operator)


def _fast(length: int) -> int:
    """Of a fast Fourier transform of complex numbers."""
    return round(5 * length * log2(length)) if length > 1 else 0


def _axis(layer: Layer, operator: Operator) -> int:
    """Of DFT: an attribute until opset 19, and an input since; by default the last but one."""
    axis = operator.attribute("axis")
    if isinstance(axis, int):
        return axis
    known = known_elements(layer, operator, 2)
    return known[0] if known else -2


def _fourier(axis: int, given: tuple[int, ...], output: tuple[int, ...]) -> int:
    """A transform along an axis of numbers whose parts are the last axis."""
    sizes = list(map(max, given[:-1], output[:-1]))  # one half may stand for both
    length = sizes[axis % len(given)]
    return prod(sizes) // max(1, length) * _fast(length)


def _is_true(layer: Layer, operator: Operator, position: int) -> bool:
    """Whether an input that decides what the operator does is a constant that is true."""
    if position >= len(operator.inputs) or operator.inputs[position] == OMITTED:
        return False
    return any(layer.tensors[operator.inputs[position]].value or b"")


def _attention_flops(
    layer: Layer, operator: Operator, shapes: list[tuple[int, ...]], output: tuple[int, ...]
) -> int:
    """Two matrix products, a softmax and a cap, of the pairs of a query and a key that it sees. At
    rank 3, the last axis contains the heads.
    """
    query = shapes[0]
    pairs = standard(layer, operator).pairs()
    of_score = 5 + bool(operator.attribute("softcap")) * 3
    if len(query) == 3:
        batch, _, width = query
        heads = operator.integer("q_num_heads") or 1
        return batch * pairs * (2 * (width + output[-1]) + of_score * heads)
    *outer, _, depth = query
    return prod(outer) * pairs * (2 * (depth + output[-1]) + of_score)


def _recurrent_flops(op_type: str, shapes: list[tuple[int, ...]]) -> int:
    """The matrix products of all time steps, with the weights W [directions, gates*hidden, input]
    and R [directions, gates*hidden, hidden].
    """
    steps = prod(shapes[0][:2])
    return 2 * steps * (prod(shapes[1]) + prod(shapes[2]))
