"""What inputs of ONNX Runtime's own operators may hold."""

from collections.abc import Mapping
from math import sqrt

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.draws import (
    DEQUANTISED,
    FLOATS,
    LINEAR_ATTENTION,
    POSITIVE,
    QGEMM,
    QLINEAR,
    QUANTISED,
    ZERO,
    Draw,
    Rule,
    always,
    below,
    index_tuple,
    input_shape,
    output_shape,
    quantised,
    sequence_lengths,
)
from benanza_schemas.element_types import FLOATS as FLOAT_TYPES
from benanza_schemas.layer import Layer, Operator
from benanza_schemas.operators.pages import PagedLengths, paged_lengths


def _row_of(table: int) -> Rule:
    """An index of a row of this input."""

    def rule(layer: Layer, operator: Operator) -> Draw:
        return below(input_shape(layer, operator, table)[0])

    return rule


def _rotated_from(layer: Layer, operator: Operator) -> Draw:
    """Positions of which the table has rows; a single one is that of the first of all."""
    x, rows = input_shape(layer, operator, 0), input_shape(layer, operator, 2)[0]
    alone = input_shape(layer, operator, 1) == (1,)
    return below(max(1, rows - (x[-2] - 1 if alone else 0)))


def _kept_in_buffer(layer: Layer, operator: Operator) -> Array:
    """How many keys come before the new ones in a full buffer."""
    return np.array(input_shape(layer, operator, 6)[2] - input_shape(layer, operator, 0)[1])


def _all_keys(layer: Layer, operator: Operator) -> int:
    """How many keys a GroupQueryAttention has, former ones included. There may be room for more
    than the total that the model fixes.
    """
    if len(operator.inputs) > 6 and operator.inputs[6] >= 0:
        total = layer.tensors[operator.inputs[6]].value
        if total:
            return int.from_bytes(total[:4], "little")  # an int32
    if len(operator.outputs) > 1 and operator.outputs[1] >= 0:
        return output_shape(layer, operator, 1)[2]
    before = 0
    if len(operator.inputs) > 3 and operator.inputs[3] >= 0:
        before = input_shape(layer, operator, 3)[2]
    return before + input_shape(layer, operator, 0)[1]


def _last_in_buffer(layer: Layer, operator: Operator) -> Array:
    """How many keys come before the new one: as many as a mask says, or the cache has room for."""
    if operator.inputs[3] >= 0:
        return np.array(input_shape(layer, operator, 3)[-1] - 1)
    room = input_shape(layer, operator, 5)[2]
    return np.array(room - 1 if operator.integer("past_present_share_buffer", 0) else room)


def _last_key(layer: Layer, operator: Operator) -> Array:
    return np.array(_all_keys(layer, operator) - 1)


def _number_of_keys(layer: Layer, operator: Operator) -> Array:
    return np.array(_all_keys(layer, operator))


def _cache_scale(layer: Layer, operator: Operator) -> Array:
    """Of a cache of codes: of uint8, of which a byte has two, larger ones. No number is a fraction
    halfway between two codes, and few are beyond the range.
    """
    cache = layer.tensors[operator.inputs[3]].dtype
    step = 0.46 if cache == "uint8" else 0.031
    return step * np.array([1.0, 0.5, 0.25])


def _cached(slot: int) -> Rule:
    """Codes of all numbers, or floats."""

    def rule(layer: Layer, operator: Operator) -> Draw | Array:
        dtype = layer.tensors[operator.inputs[slot]].dtype
        return FLOATS if dtype in FLOAT_TYPES else quantised(slot)(layer, operator)

    return rule


def _lengths(layer: Layer, operator: Operator) -> PagedLengths:
    tokens, *_ = input_shape(layer, operator, 0)
    return paged_lengths(tokens, input_shape(layer, operator, 3), input_shape(layer, operator, 7))


def _ends(layer: Layer, operator: Operator) -> Array:
    return np.array(_lengths(layer, operator).ends)


def _past(layer: Layer, operator: Operator) -> Array:
    lengths = _lengths(layer, operator)
    return np.array([max(0, lengths.keys - new) for new in lengths.queries()])


def _table(layer: Layer, operator: Operator) -> Array:
    """Blocks in random order, of which no two sequences have the same."""
    blocks, places, *_ = input_shape(layer, operator, 3)
    sequences, width = input_shape(layer, operator, 7)
    own = _lengths(layer, operator).keys // max(places, 1)
    table = np.zeros((sequences, width), np.int64)
    shuffled = np.random.default_rng(0).permutation(blocks)
    table[:, :own] = shuffled[: sequences * own].reshape(sequences, own)
    return table


def _mask(slot: int) -> Rule:
    """A mask that lets all through: ones, or for each item of the batch how many keys it has."""

    def rule(layer: Layer, operator: Operator) -> Array:
        lengths = len(input_shape(layer, operator, slot)) == 1
        return np.array(input_shape(layer, operator, 0)[1] if lengths else 1)

    return rule


def _row_on_axis(layer: Layer, operator: Operator) -> Draw:
    return below(input_shape(layer, operator, 0)[operator.integer("gather_axis", 0)])


def _even_ends(layer: Layer, operator: Operator) -> Array:
    """Where sequences of equal lengths begin and end that stand in a row."""
    tokens, ends = input_shape(layer, operator, 0)[0], input_shape(layer, operator, 3)[0]
    return np.linspace(0, tokens, ends).astype(np.int64)


def _block(layer: Layer, operator: Operator) -> Draw:
    return below(input_shape(layer, operator, 1)[1])


def _moderate(size: float, *, signed: bool) -> Rule:
    """Weights of products, or their scales, of about `size` over the root of the depth, so that the
    results are numbers around one. Of negative ones that are large an activation makes numbers so
    near zero that a processor takes several times as long for them; and where a model chooses
    experts by large numbers, all but one of these weigh nothing, and are left out.
    """

    def rule(layer: Layer, operator: Operator) -> Draw:
        high = size / sqrt(max(input_shape(layer, operator, 0)[-1], 1))
        return Draw(FLOATS.low * high, high, signed)

    return rule


def _expert_scales(product: int) -> Rule:
    """Of QMoE's first, second or third product: the more bits, the larger are the numbers."""

    def rule(layer: Layer, operator: Operator) -> Draw | Array:
        own = operator.integer(f"fc{product}_expert_weight_bits", 0)
        bits = own or operator.integer("expert_weight_bits", 4)
        return _moderate(1 / (1 << max(bits, 1) - 1), signed=False)(layer, operator)

    return rule


def _routing(layer: Layer, operator: Operator) -> Array:
    """Logits that are well apart, in another order for each row: so each row's experts are as
    likely as any others. Of several draws, that counts whose rows choose most nearly as many
    experts as they do on average.
    """
    rows, experts = input_shape(layer, operator, 1)
    rows, top_k = min(rows, MOST_ROUTED), max(1, operator.integer("k", 1))
    apart = np.linspace(-1, 1, experts + experts % 2)[:experts]  # An even number of them has no 0.
    ordered = np.tile(apart, (rows, 1))
    expected = experts * (1 - (1 - top_k / experts) ** rows)
    random = np.random.default_rng(0)
    draws = [random.permuted(ordered, axis=1) for _ in range(ROUTINGS)]

    def chosen(logits: Array) -> int:
        return len(np.unique(np.argsort(-logits, axis=1)[:, :top_k]))

    return min(draws, key=lambda logits: abs(chosen(logits) - expected))


def _scaled(*scales: int, zeros: tuple[int, ...]) -> dict[int, Rule]:
    """Scales are positive, and zero points zero."""
    return dict.fromkeys(scales, always(POSITIVE)) | dict.fromkeys(zeros, always(ZERO))


MOST_JOINED = 300
"""Of a Concat's inputs, so many are scales and zero points at most. DenseNets join dozens."""

MOST_ROUTED = 1024
"""So many rows are routed each in their own way, and the next ones like them."""

ROUTINGS = 16
"""How many draws there are of which experts rows go to."""

_WEIGHTS = _moderate(1, signed=True)
_SCALES = _moderate(1 / 8, signed=False)  # a weight of four bits is at most 8 from its zero point
_OF_TWO = _scaled(1, 4, 6, zeros=(2, 5, 7))
_OF_ONE = _scaled(1, 3, zeros=(2, 4))

OWN_RULES: Mapping[str, Mapping[int, Rule]] = {
    "Attention": {3: _mask(3)},
    "CropAndResize": {1: always(Draw(0, 1)), 2: always(ZERO)},
    "DecoderMaskedMultiHeadAttention": {7: _last_in_buffer, 8: always(Draw(1, 1)), 9: always(ZERO)},
    "DequantizeLinear": DEQUANTISED,
    "DynamicQuantizeLSTM": {4: sequence_lengths} | _scaled(8, 10, zeros=(9, 11)),
    "DynamicQuantizeMatMul": _scaled(2, zeros=()),
    "EmbedLayerNormalization": {0: _row_of(2), 1: _row_of(4), 7: _mask(7), 8: _row_of(3)},
    "GatherBlockQuantized": {1: _row_on_axis, 2: always(POSITIVE)},
    "GatherND": {1: index_tuple},
    "GroupQueryAttention": {
        3: _cached(3),
        4: _cached(4),
        5: _last_key,
        6: _number_of_keys,
        9: _row_of(7),
        12: _cache_scale,
        13: _cache_scale,
    },
    "LinearAttention": LINEAR_ATTENTION,
    "MRotaryEmbedding": {1: _row_of(2)},
    "MatMulIntegerToFloat": _scaled(2, 3, zeros=()),
    "MatMulNBits": {2: _SCALES, 4: _block},
    "MoE": {1: _routing, 2: _WEIGHTS, 4: _WEIGHTS, 6: _WEIGHTS},
    "MultiHeadAttention": {4: _mask(4), 8: _kept_in_buffer, 9: always(ZERO)},
    "NGramRepeatBlock": {0: always(ZERO)},
    "PagedAttention": {
        3: _cached(3),
        4: _cached(4),
        5: _ends,
        6: _past,
        7: _table,
        14: _cache_scale,
        15: _cache_scale,
    },
    "QAttention": _scaled(3, 4, zeros=()) | {5: _mask(5)},
    "QEmbedLayerNormalization": {
        0: _row_of(2),
        1: _row_of(4),
        7: _mask(7),
        **_scaled(8, 9, 10, 11, 12, zeros=()),
    },
    "QGemm": QGEMM,
    "QLinearAdd": _OF_TWO,
    "QLinearAveragePool": _OF_ONE,
    "QLinearConcat": _scaled(0, *range(3, MOST_JOINED, 3), zeros=(1, *range(4, MOST_JOINED, 3))),
    "QLinearConv": QLINEAR | {8: quantised(8)},
    "QLinearGlobalAveragePool": _OF_ONE,
    "QLinearLeakyRelu": _OF_ONE,
    "QLinearMul": _OF_TWO,
    "QLinearReduceMean": _OF_ONE,
    "QLinearSigmoid": _OF_ONE,
    "QLinearSoftmax": _OF_ONE | {3: always(Draw(1 / 256, 1 / 256))},
    "QLinearWhere": _scaled(2, 5, 7, zeros=(3, 6, 8)),
    "QMoE": {1: _routing, **{place: _expert_scales(place // 3) for place in (3, 6, 9)}},
    "QuantizeLinear": QUANTISED,
    "RotaryEmbedding": {1: _rotated_from},
    "TorchEmbedding": {1: _row_of(0)},
    "VarlenNGramHashMapping": {3: _even_ends},
    "WordConvEmbedding": {0: _row_of(3)},
}
"""What each input may hold, by its place, for operators that don't take every number."""
