"""Operations of the operators that ONNX Runtime adds to ONNX's own, counted as in `costs`."""

from collections.abc import Callable, Sequence
from math import prod

from benanza_ingest.layering.attended import Attended
from benanza_ingest.layering.grouped_attention import grouped_flops, rotated
from benanza_ingest.layering.paged_attention import paged_flops
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.table import facts_of

Shape = tuple[int, ...]
Formula = Callable[[Operator, Sequence[Shape], Sequence[Shape]], int]
"""Of an operator, with the shapes of its inputs and of its results: () for what is left out."""


def own_flops(layer: Layer, operator: Operator) -> int:
    """The number of operations; one for each element of the first result where no more is known."""
    if operator.op_type == "GroupQueryAttention":
        return grouped_flops(layer, operator)
    if operator.op_type == "PagedAttention":
        return paged_flops(layer, operator)
    if operator.op_type == "RotaryEmbedding":
        return rotation_flops(layer, operator, 2)
    inputs, results = _shapes(layer, operator.inputs), _shapes(layer, operator.outputs)
    formula = FORMULAS.get(operator.op_type)
    if formula is not None:
        return formula(operator, inputs, results)
    return prod(results[0]) * per_element(operator)


def per_element(operator: Operator) -> int:
    """The operations for each element of the first result of an operator without a formula."""
    counted = facts_of(operator.op_type, operator.domain).flops
    assert counted is not None, f"no formula counts the operations of {operator.op_type}"
    return counted


def _shapes(layer: Layer, places: Sequence[int]) -> list[Shape]:
    return [() if place == OMITTED else layer.tensors[place].shape for place in places]


def _product(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    left = inputs[0]
    depth = left[-1]
    if operator.integer("transA") and len(left) > 1:
        # The first axis is that of rows by then, if it was one of the batch.
        depth = left[0] if operator.integer("transBatchA") else left[-2]
    activation = operator.attribute("activation") is not None
    return prod(results[0]) * (2 * depth + activation)


def _convolution(weights: int) -> Formula:
    def formula(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
        filters = inputs[weights]
        activation = operator.attribute("activation") is not None
        return prod(results[0]) * (2 * prod(filters[1:]) + activation)

    return formula


def _summed(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """A sum over the ranks, as one of them may compute it."""
    return prod(results[0]) * (operator.integer("group_size") - 1)


def _pooling(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    return prod(results[0]) * prod(operator.integers("kernel_shape"))


def _over_all(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    return prod(inputs[0])


def _scores(heads: int, attended: Attended, depth: int, value_depth: int) -> int:
    """Two products and a softmax, for each pair of a query and a key that it sees."""
    return heads * attended.pairs() * (2 * (depth + value_depth) + 5)


def _attended(operator: Operator, length: int, keys: int, before: int) -> Attended:
    """With the keys from before, in front of so many new ones. A query of an operator that is
    unidirectional sees those before it and its own.
    """
    right = 0 if operator.integer("unidirectional") else None
    return Attended(length, before + keys, before, right=right)


def _projected(past: int) -> Formula:
    """With the products that make queries, keys and values. Where former keys share their memory
    with the results, the data decide how many there are.
    """

    def formula(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
        (batch, length, width), heads = inputs[0], operator.integer("num_heads")
        before = inputs[past][3] if len(inputs) > past and inputs[past] else 0
        if operator.integer("past_present_share_buffer"):
            before = 0
        depth = results[0][2] // heads
        made = 2 * batch * length * width * inputs[1][-1]
        attended = _attended(operator, length, length, before)
        return made + _scores(batch * heads, attended, depth, depth)

    return formula


def _multi_head(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    heads, query = operator.integer("num_heads"), inputs[0]
    batch, length = query[:2]
    key = inputs[1] if len(inputs) > 1 else ()
    keys = length
    if key:
        keys = key[2] if len(key) == 4 else key[1]
    before = inputs[6][2] if len(inputs) > 6 and inputs[6] else 0
    if len(operator.inputs) > 8 and operator.inputs[8] != OMITTED:
        before = 0  # the data decide how many of them count
    depth = query[4] if len(query) == 5 else query[2] // heads
    attended = _attended(operator, length, keys, before)
    return _scores(batch * heads, attended, depth, results[0][2] // heads)


def _sparse(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """The data decide which blocks of keys a query sees: its own key at least."""
    heads = operator.integer("num_heads")
    batch, length, width = results[0]
    return _scores(batch * heads, Attended(length, 1, 0), width // heads, width // heads)


def _several(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """Products of the same rows with two packed matrices for an activation, or with three."""
    columns = 2 * operator.integer("N") or operator.integer("Nq") + 2 * operator.integer("Nkv")
    return 2 * prod(inputs[0]) * columns


def _in_a_row(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """Sequences of any lengths: no lengths give fewer pairs than equal ones."""
    tokens, width = results[0]
    heads, batch = operator.integer("num_heads"), inputs[5][0] - 1
    depth = prod(inputs[0][1:]) // heads // (3 if len(inputs[0]) == 4 else 1)
    attended = Attended(tokens, -(-tokens // batch), 0)
    return _scores(heads, attended, depth, width // heads)


def _ordered(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """With the products that make queries, keys and values."""
    batch, length, width = results[0]
    heads = operator.integer("num_heads")
    made = 2 * prod(inputs[0]) * sum(inputs[place][-1] for place in (5, 6, 7))
    attended = _attended(operator, length, length, 0)
    return made + _scores(batch * heads, attended, inputs[5][-1] // heads, width // heads)


def _gated_delta(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """The products with a state, as `linear_attention_flops` counts them, for each token and head
    of the results.
    """
    state = results[1] if len(results) > 1 and results[1] else inputs[6]
    return (_ADDED + _DECAYED + _CORRECTED + _READ) * prod(results[0]) * state[-1]


def linear_attention_flops(
    operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]
) -> int:
    """For each token and each element of a state what its rule says, and for each head of the
    results the product of a query with the state. ONNX's operator is the same.
    """
    queries = operator.integer("q_num_heads") or 1
    heads = operator.integer("kv_num_heads") or 1
    rule = operator.attribute("update_rule") or "gated_delta"
    changed = _ADDED
    changed += _DECAYED if rule in ("gated", "gated_delta") else 0
    changed += _CORRECTED if rule in ("delta", "gated_delta") else 0
    of_head = prod(inputs[0]) // queries * (inputs[2][-1] // heads)
    return of_head * (heads * changed + max(queries, heads) * _READ)


def causal_flops(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """Of a causal convolution of each channel, with its activation. ONNX's operator is the same."""
    active = (operator.attribute("activation") or "none") != "none"
    of_activation = (facts_of("Swish").flops or 0) if active else 0
    return prod(results[0]) * (2 * prod(inputs[1][2:]) + of_activation)


def rotation_flops(layer: Layer, operator: Operator, table: int) -> int:
    """Of what is rotated of each head, by the table at this place among inputs. ONNX's operator is
    the same. Without a number of heads all is rotated.
    """
    x, heads = layer.tensors[operator.inputs[0]].shape, operator.integer("num_heads")
    size = x[-1] if len(x) == 4 else x[-1] // heads if heads else 0
    if size:
        return prod(x) // size * rotated(layer, operator, size, table) * per_element(operator)
    return prod(x) * per_element(operator)


_ADDED, _DECAYED, _CORRECTED, _READ = 2, 1, 2, 2
"""Operations for each element of a state: of a key times a value that is added, of its decay, of
what the state has for the key already, and of its product with a query."""


def _inverse(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    return 2 * prod(inputs[0]) * prod(inputs[1][1:])


def _letters(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """A convolution along the letters of each word, and the largest of its results."""
    windows = max(0, inputs[0][1] - inputs[1][2] + 1)
    return prod(results[0]) * windows * (2 * prod(inputs[1][1:]) + 1)


def _mixed(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """Products with matrices of the branches, where there are any, and what is added to each."""
    mixed = inputs[3][-1] if len(inputs) > 3 and inputs[3] else 0
    return 2 * prod(results[0]) * (mixed + 1)


def _queries(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """The product that makes queries: how many keys there are, the data decide."""
    return 2 * prod(inputs[0]) * inputs[2][-1]


def _recurrent(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    return 2 * prod(inputs[0][:2]) * (prod(inputs[1]) + prod(inputs[2]))


def _experts(operator: Operator, inputs: Sequence[Shape], results: Sequence[Shape]) -> int:
    """Each row goes through `k` of the experts, each of which has two products or three."""
    rows = prod(inputs[0][:-1])
    places = (2, 5, 8) if operator.op_type == "QMoE" else (2, 4, 6)
    weights = 0
    for product, place in enumerate(places, start=1):
        if len(inputs) > place and inputs[place]:
            bits = expert_bits(operator, product) if operator.op_type == "QMoE" else 8
            weights += prod(inputs[place][1:]) * 8 // bits
    return 2 * rows * max(1, operator.integer("k")) * weights


def expert_bits(operator: Operator, product: int) -> int:
    """Of a weight of QMoE's first, second or third product."""
    kind = operator.attribute("quant_type") or "int"
    if kind != "int":
        return 8 if kind == "fp8" else 4
    own = operator.integer(f"fc{product}_expert_weight_bits")
    return own or operator.integer("expert_weight_bits") or 4


FORMULAS: dict[str, Formula] = {
    "AllReduce": _summed,
    "Attention": _projected(4),
    "AttnLSTM": _recurrent,
    "AveragePool": _pooling,
    "CausalConvWithState": causal_flops,
    "Conv": _convolution(1),
    "ConvTransposeWithDynamicPads": _inverse,
    "DecoderAttention": _queries,
    "DecoderMaskedSelfAttention": _projected(4),
    "DynamicQuantizeLSTM": _recurrent,
    "FusedConv": _convolution(1),
    "GatedDeltaNet": _gated_delta,
    "GlobalAveragePool": _over_all,
    "GlobalMaxPool": _over_all,
    "HyperConnectionPostMix": _mixed,
    "HyperConnectionPreMix": lambda operator, inputs, results: 2 * prod(inputs[0]),
    "LinearAttention": linear_attention_flops,
    "MatMulNBitsMlp": _several,
    "MatMulNBitsQkv": _several,
    "MaxPool": _pooling,
    "MaxpoolWithMask": _pooling,
    "MoE": _experts,
    "MultiHeadAttention": _multi_head,
    "NhwcConv": _convolution(1),
    "NhwcFusedConv": _convolution(1),
    "NhwcMaxPool": _pooling,
    "PackedMultiHeadAttention": _in_a_row,
    "QAttention": _projected(8),
    "QLinearAveragePool": _pooling,
    "QLinearConv": _convolution(3),
    "QLinearGlobalAveragePool": _over_all,
    "QLinearReduceMean": _over_all,
    "QMoE": _experts,
    "QOrderedAttention": _ordered,
    "ReduceSumInteger": _over_all,
    "SparseAttention": _sparse,
    "VarlenCausalConvWithState": causal_flops,
    "WordConvEmbedding": _letters,
} | dict.fromkeys(
    (
        *("DynamicQuantizeMatMul", "FusedGemm", "FusedMatMul", "FusedMatMulActivation"),
        *("GemmFastGelu", "GemmFloat8", "MatMulBnb4", "MatMulFpQ4", "MatMulInteger16"),
        *("MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp8Weight"),
        *("MatMulIntegerToFloat", "MatMulNBits", "QGemm", "QOrderedMatMul"),
        *("SparseToDenseMatMul", "TransposeMatMul"),
    ),
    _product,
)
