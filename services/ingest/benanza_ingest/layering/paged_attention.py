"""What ONNX Runtime's PagedAttention computes and touches, for the lengths that sequences are taken
to have.

A query attends to the keys of its sequence up to its own, and with a window of W only to the last W
of these. Source: the operator's definition in ONNX Runtime.
"""

from math import prod

from benanza_ingest.layering.attended import Attended
from benanza_ingest.layering.grouped_attention import rotated
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.pages import paged_lengths

_SOFTMAX, _SOFTCAP, _ROTATION = 5, 3, 3
"""Operations for each element: a softmax; a quotient, tanh and product; two products and a sum."""

_CACHES = ((3, 1), (4, 2))
"""The places of caches of keys and of values among inputs and outputs."""

_TABLES = (8, 9)


def paged_flops(layer: Layer, operator: Operator) -> int:
    """Of the scores and of the sums of values, and of the rotation where the operator does it."""
    tokens, width = layer.tensors[operator.outputs[0]].shape
    heads, of_keys = operator.integer("num_heads"), operator.integer("kv_num_heads")
    depth = width // heads
    window = max(0, operator.integer("local_window_size"))
    pairs = 0
    for length, before in _sequences(layer, operator):
        if operator.attribute("is_causal") == 0:
            pairs += length * (before + length)
        else:
            left = window - 1 if window else None
            pairs += Attended(length, before + length, before, left, 0).pairs()
    capped = bool(operator.attribute("softcap"))
    flops = heads * pairs * (4 * depth + _SOFTMAX + capped * _SOFTCAP)
    if operator.integer("do_rotary"):
        columns = rotated(layer, operator, depth, _TABLES[0])
        flops += _ROTATION * tokens * (heads + of_keys) * columns
    return flops


def paged_touched(layer: Layer, operator: Operator) -> dict[int, int]:
    """Of caches, the keys and values of each sequence that its queries attend to, and where they
    are written the new ones; of the tables, a row for each token.
    """
    window = max(0, operator.integer("local_window_size"))
    sequences = _sequences(layer, operator)
    read = sum(min(before, window - 1) if window else before for _, before in sequences)
    new = sum(length for length, _ in sequences)
    touched = {}
    for kept, result in _CACHES:
        if not _has(operator.inputs, kept):
            continue
        shape = layer.tensors[operator.inputs[kept]].shape
        touched[operator.inputs[kept]] = min(prod(shape), read * prod(shape[2:]))
        if _has(operator.outputs, result):
            touched[operator.outputs[result]] = min(prod(shape), new * prod(shape[2:]))
    for table in _TABLES:
        if _has(operator.inputs, table):
            rows, columns = layer.tensors[operator.inputs[table]].shape
            touched[operator.inputs[table]] = min(rows, new) * columns
    return touched


def _sequences(layer: Layer, operator: Operator) -> list[tuple[int, int]]:
    """The new tokens of each sequence, and how many keys it has before."""
    tokens, cache, table = (layer.tensors[operator.inputs[place]].shape for place in (0, 3, 7))
    lengths = paged_lengths(tokens[0], cache, table)
    return [(new, max(0, lengths.keys - new)) for new in lengths.queries()]


def _has(places: tuple[int, ...], place: int) -> bool:
    return place < len(places) and places[place] != OMITTED
