"""Operations of the operators that ONNX Runtime adds to ONNX's own, counted as in `costs`."""

from collections.abc import Callable, Sequence
from math import prod

from benanza_ingest.layering.grouped_attention import grouped_flops
from benanza_ingest.layering.operator_values import attribute, ints, number
from benanza_schemas.layer import OMITTED, Layer, Operator

Shape = tuple[int, ...]
Formula = Callable[[Operator, Sequence[Shape], Sequence[Shape]], int]
"""Of an operator, with the shapes of its inputs and of its results: () for what is left out."""

_PER_ELEMENT = {
    "BiasAdd": 2,
    "BiasDropout": 1,
    "BiasGelu": 6,
    "BiasSoftmax": 6,
    "EmbedLayerNormalization": 9,  # two sums, then as LayerNormalization
    "FastGelu": 5,
    "Gelu": 5,
    "GatherBlockQuantized": 2,  # a difference and a product
    "GroupNorm": 7,
    "QEmbedLayerNormalization": 9,
    "QLinearSoftmax": 5,
    "QuickGelu": 4,
    "RotaryEmbedding": 3,  # two products and a sum
    "SimplifiedLayerNormalization": 4,
    "SkipGroupNorm": 8,
    "SkipLayerNormalization": 8,
    "SkipSimplifiedLayerNormalization": 5,
}
_NONE = frozenset(
    "BitmaskDropout ExpandDims Pad QLinearConcat ReorderInput ReorderOutput Trilu UnfoldTensor "
    "TorchEmbedding NGramRepeatBlock".split()
)
"""They only move."""


def own_flops(layer: Layer, operator: Operator) -> int:
    """The number of operations; one for each element of the first result where no more is known."""
    if operator.op_type == "GroupQueryAttention":
        return grouped_flops(layer, operator)
    if operator.op_type in _NONE:
        return 0
    inputs, results = _shapes(layer, operator.inputs), _shapes(layer, operator.outputs)
    formula = _FORMULAS.get(operator.op_type)
    if formula is not None:
        return formula(operator, inputs, results)
    return prod(results[0]) * _PER_ELEMENT.get(operator.op_type, 1)


def _shapes(layer: Layer, places: Sequence[int]) -> list[Shape]:
    return [() if place == OMITTED else layer.tensors[place].shape for place in places]


def _product(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    left = inputs[0]
    flipped = number(operator, "transA") and len(left) > 1
    activation = any(each.name == "activation" for each in operator.attributes)
    return prod(results[0]) * (2 * (left[-2] if flipped else left[-1]) + activation)


def _convolution(weights: int) -> Formula:
    def formula(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
        filters = inputs[weights]
        activation = any(each.name == "activation" for each in operator.attributes)
        return prod(results[0]) * (2 * prod(filters[1:]) + activation)

    return formula


def _pooling(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    return prod(results[0]) * prod(ints(operator, "kernel_shape"))


def _over_all(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    return prod(inputs[0])


def _scores(queries: int, keys: int, depth: int, value_depth: int) -> int:
    """Two products and a softmax, for each pair of a query and a key."""
    return queries * keys * (2 * (depth + value_depth) + 5)


def _projected(past: int) -> Formula:
    """With the products that make queries, keys and values."""

    def formula(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
        (batch, length, width), heads = inputs[0], number(operator, "num_heads")
        before = inputs[past][3] if len(inputs) > past and inputs[past] else 0
        depth = results[0][2] // heads
        made = 2 * batch * length * width * inputs[1][-1]
        return made + _scores(batch * heads * length, before + length, depth, depth)

    return formula


def _multi_head(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    heads, query = number(operator, "num_heads"), inputs[0]
    batch, length = query[:2]
    key = inputs[1] if len(inputs) > 1 else ()
    keys = length
    if key:
        keys = key[2] if len(key) == 4 else key[1]
    keys += inputs[6][2] if len(inputs) > 6 and inputs[6] else 0
    depth = query[4] if len(query) == 5 else query[2] // heads
    return _scores(batch * heads * length, keys, depth, results[0][2] // heads)


def _sparse(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    heads = number(operator, "num_heads")
    batch, length, width = results[0]
    before = inputs[3][2] if len(inputs) > 3 and inputs[3] else 0
    keys = results[1][2] if len(results) > 1 and results[1] else before + length
    return _scores(batch * heads * length, keys, width // heads, width // heads)


def _recurrent(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    return 2 * prod(inputs[0][:2]) * (prod(inputs[1]) + prod(inputs[2]))


def _experts(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """Each row goes through `k` of the experts, each of which has two products or three."""
    rows = prod(inputs[0][:-1])
    places = (2, 5, 8) if operator.op_type == "QMoE" else (2, 4, 6)
    weights = 0
    for product, place in enumerate(places, start=1):
        if len(inputs) > place and inputs[place]:
            bits = _expert_bits(operator, product) if operator.op_type == "QMoE" else 8
            weights += prod(inputs[place][1:]) * 8 // bits
    return 2 * rows * max(1, number(operator, "k")) * weights


def _expert_bits(operator: Operator, product: int) -> int:
    """Of a weight of QMoE's first, second or third product."""
    kind = attribute(operator, "quant_type") or "int"
    if kind != "int":
        return 8 if kind == "fp8" else 4
    own = number(operator, f"fc{product}_expert_weight_bits")
    return own or number(operator, "expert_weight_bits") or 4


_FORMULAS: dict[str, Formula] = {
    "Attention": _projected(4),
    "AveragePool": _pooling,
    "Conv": _convolution(1),
    "DynamicQuantizeLSTM": _recurrent,
    "FusedConv": _convolution(1),
    "GlobalAveragePool": _over_all,
    "GlobalMaxPool": _over_all,
    "MaxPool": _pooling,
    "MaxpoolWithMask": _pooling,
    "MoE": _experts,
    "MultiHeadAttention": _multi_head,
    "NhwcConv": _convolution(1),
    "NhwcFusedConv": _convolution(1),
    "NhwcMaxPool": _pooling,
    "QAttention": _projected(8),
    "QLinearAveragePool": _pooling,
    "QLinearConv": _convolution(3),
    "QLinearGlobalAveragePool": _over_all,
    "QLinearReduceMean": _over_all,
    "QMoE": _experts,
    "ReduceSumInteger": _over_all,
    "SparseAttention": _sparse,
} | dict.fromkeys(
    (
        *("DynamicQuantizeMatMul", "FusedGemm", "FusedMatMul", "FusedMatMulActivation"),
        *("GemmFastGelu", "GemmFloat8", "MatMulBnb4", "MatMulFpQ4", "MatMulInteger16"),
        *("MatMulIntegerToFloat", "MatMulNBits", "QGemm", "QOrderedMatMul"),
        *("SparseToDenseMatMul", "TransposeMatMul"),
    ),
    _product,
)
