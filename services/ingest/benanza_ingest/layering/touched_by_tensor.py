"""How much operators of language models touch of tables, experts and kept keys, tensor by tensor.

In the comments, B is the batch, S the length of the query, P that of what is kept from before, N
the number of heads, H their depth and E the number of experts. Sources: the definitions of the
operators of `com.microsoft` in ONNX Runtime, and RotaryEmbedding's in ONNX.
"""

from collections.abc import Callable, Mapping
from math import prod

from benanza_ingest.layering.attended import standard
from benanza_ingest.layering.grouped_attention import grouped_touched
from benanza_ingest.layering.paged_attention import paged_touched
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.buffers import BUFFERS

Shape = tuple[int, ...]
ByTensor = Callable[[Layer, Operator], dict[int, int]]


def _standard_tables(layer: Layer, operator: Operator) -> dict[int, int]:
    """ONNX's RotaryEmbedding: with positions, a row of each table for each of them."""
    if not _has(operator, 3):
        return {}
    return _rows(layer, operator, (1, 2), prod(_shape(layer, operator, 3)))


def _seen(layer: Layer, operator: Operator) -> dict[int, int]:
    """Of the keys and values of ONNX's Attention those that any query sees, unless they or their
    scores are results; of a mask the pairs that are seen without it.
    """
    attended = standard(layer, operator)
    elements: dict[int, int] = {}
    for place in (1, 2):
        written = _writes(operator, place) or _writes(operator, 3)
        if not _has(operator, place + 3) and not written:
            axis = len(_shape(layer, operator, place)) - 2
            elements |= _rows(layer, operator, (place,), attended.seen(), axis)
    if _has(operator, 3):
        mask = _shape(layer, operator, 3)
        if mask[-2:] == (attended.queries, attended.keys):
            elements[operator.inputs[3]] = prod(mask[:-2]) * attended.pairs()
    return elements


def _rotary_tables(layer: Layer, operator: Operator) -> dict[int, int]:
    x, positions = _shape(layer, operator, 0), _shape(layer, operator, 1)
    length = x[2] if len(x) == 4 else x[1]
    # A single position is that of the first of S.
    return _rows(layer, operator, (2, 3), max(length, prod(positions)))


def _grouped(layer: Layer, operator: Operator) -> dict[int, int]:
    """Of the tables, a row for each of B x S; of what is kept, as `grouped_touched` says."""
    batch, length, _ = _shape(layer, operator, 0)
    rows = batch * length if operator.integer("do_rotary") else 0
    return _rows(layer, operator, (7, 8), rows) | grouped_touched(layer, operator)


def _in_place(tables: int, *axes_of_token: int) -> ByTensor:
    """Of kept keys and values, which the operator keeps in the same memory, the new ones are
    written; how many are read, the data decide. `axes_of_token` are those of one key, `tables` the
    first of two with rotations.
    """

    def touched(layer: Layer, operator: Operator) -> dict[int, int]:
        tokens = prod(_shape(layer, operator, 0)[:-1])
        elements = _rows(layer, operator, (tables, tables + 1), tokens)
        for kept, result in ((3, 1), (4, 2)):
            if _has(operator, kept):
                shape = _shape(layer, operator, kept)
                new = tokens * prod(shape[axis] for axis in axes_of_token)
                elements[operator.inputs[kept]] = 0
                if _writes(operator, result):
                    elements[operator.outputs[result]] = min(prod(shape), new)
        return elements

    return touched


def _in_buffer(layer: Layer, operator: Operator) -> dict[int, int]:
    """Of buffers for keys and values, which are as long before as after, those of the new tokens
    are written; how many are read, the data decide, and all count.
    """
    tokens = _shape(layer, operator, 0)[1]
    elements = {}
    for kept, result in BUFFERS[operator.op_type]:
        if _has(operator, kept) and _writes(operator, result):
            shape = layer.tensors[operator.outputs[result]].shape
            if shape == _shape(layer, operator, kept):
                of_key = prod(shape[:-2]) * shape[-1]
                elements[operator.outputs[result]] = of_key * min(shape[-2], tokens)
    return elements


def _rows_of_positions(tables: tuple[int, ...], positions: int) -> ByTensor:
    """Of these tables, a row for each element of another input."""
    return lambda layer, operator: _rows(
        layer, operator, tables, prod(_shape(layer, operator, positions))
    )


def _experts(layer: Layer, operator: Operator) -> dict[int, int]:
    """Of the weights [E, ...], those of as many experts as rows choose on average, where each row's
    `k` are as likely as any others.
    """
    rows = prod(_shape(layer, operator, 0)[:-1])
    count = _shape(layer, operator, 1)[-1]
    share = min(1, max(1, operator.integer("k")) / max(1, count))
    chosen = count * (1 - (1 - share) ** rows)
    elements = {}
    for place in range(2, len(operator.inputs)):
        if _has(operator, place) and (shape := _shape(layer, operator, place))[:1] == (count,):
            elements[operator.inputs[place]] = round(chosen * prod(shape[1:]))
    return elements


def _quantised_rows(layer: Layer, operator: Operator) -> dict[int, int]:
    """Of a table, its scales and its zero points, a row for each index."""
    axis = operator.integer("gather_axis")
    count = prod(_shape(layer, operator, 1))
    return _rows(layer, operator, (0, 2, 3), count, axis)


def _last_state(layer: Layer, operator: Operator) -> dict[int, int]:
    """Of the states [W, ...] behind each of the last W tokens, the last one is read."""
    if not operator.integer("state_window") or not _has(operator, 3):
        return {}
    return {operator.inputs[3]: prod(_shape(layer, operator, 3)[1:])}


def _rows(
    layer: Layer, operator: Operator, places: tuple[int, ...], count: int, axis: int = 0
) -> dict[int, int]:
    elements = {}
    for place in places:
        if _has(operator, place):
            shape = _shape(layer, operator, place)
            size = shape[axis] or 1
            elements[operator.inputs[place]] = prod(shape) // size * min(size, count)
    return elements


def _has(operator: Operator, place: int) -> bool:
    return place < len(operator.inputs) and operator.inputs[place] != OMITTED


def _writes(operator: Operator, place: int) -> bool:
    return place < len(operator.outputs) and operator.outputs[place] != OMITTED


def _shape(layer: Layer, operator: Operator, place: int) -> Shape:
    return layer.tensors[operator.inputs[place]].shape


TOUCHED_BY_TENSOR: Mapping[tuple[str, str], ByTensor] = {
    ("com.microsoft", op_type): _in_buffer for op_type in BUFFERS
} | {
    ("", "Attention"): _seen,
    ("", "RotaryEmbedding"): _standard_tables,
    ("com.microsoft", "CausalConvWithState"): _last_state,
    ("com.microsoft", "DynamicSparseAttention"): _in_place(11, 1, 3),
    ("com.microsoft", "EmbedLayerNormalization"): _rows_of_positions((2, 3, 4), 0),
    ("com.microsoft", "GatherBlockQuantized"): _quantised_rows,
    ("com.microsoft", "GroupQueryAttention"): _grouped,
    ("com.microsoft", "LinearAttention"): _last_state,
    ("com.microsoft", "MRotaryEmbedding"): _rows_of_positions((2, 3), 1),
    ("com.microsoft", "MoE"): _experts,
    ("com.microsoft", "PagedAttention"): paged_touched,
    ("com.microsoft", "QEmbedLayerNormalization"): _rows_of_positions((2, 3, 4), 0),
    ("com.microsoft", "QMoE"): _experts,
    ("com.microsoft", "RotaryEmbedding"): _rotary_tables,
    ("com.microsoft", "SparsePagedAttention"): _in_place(14, 2, 3),
    ("com.microsoft", "TorchEmbedding"): _rows_of_positions((0,), 1),
    ("com.microsoft", "WordConvEmbedding"): _rows_of_positions((3,), 0),
}
"""By domain and operator: the elements of each tensor, by its place in the layer, of which not all
are touched.
"""
