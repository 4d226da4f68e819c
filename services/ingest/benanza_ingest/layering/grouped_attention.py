"""What ONNX Runtime's GroupQueryAttention computes and touches.

A query attends to the keys kept from before it and to the new ones up to its own, and with a
window of W only to the last W of these. Source: the operator's definition in ONNX Runtime, whose
results on the CPU a test compares.
"""

from math import prod
from typing import NamedTuple

from benanza_ingest.layering.attended import Attended
from benanza_ingest.layering.operator_values import elements
from benanza_schemas.layer import OMITTED, Layer, Operator

Shape = tuple[int, ...]
_SOFTMAX, _SOFTCAP, _ROTATION = 5, 3, 3
"""Operations for each element: a softmax; a quotient, tanh and product; two products and a sum."""

_COSINES = 7
"""The place of the table among inputs."""


class _Kept(NamedTuple):
    """How many keys are kept from `before` the `length` new ones; the window, 0 for none; and
    whether what is kept afterwards lies in the same memory, which its equal length shows.
    """

    before: int
    length: int
    window: int
    in_place: bool


def rotated(layer: Layer, operator: Operator, size: int, table: int) -> int:
    """How many elements of a head of this size are rotated, by the table of cosines at this place
    among inputs, which has a column for two of them. The others are copied.
    """
    if not _has(operator.inputs, table):
        return size
    return min(size, 2 * _shape(layer, operator.inputs[table])[-1])


def grouped_flops(layer: Layer, operator: Operator) -> int:
    """Of the scores and of the sums of values, and of the rotation where the operator does it."""
    batch, length, width = _shape(layer, operator.outputs[0])
    heads, kept_heads = operator.integer("num_heads"), operator.integer("kv_num_heads")
    depth = width // heads
    pair_flops = 2 * (depth + depth) + _SOFTMAX + bool(operator.attribute("softcap")) * _SOFTCAP
    flops = batch * heads * _pairs(operator, _kept(layer, operator)) * pair_flops
    if operator.integer("do_rotary"):
        columns = rotated(layer, operator, depth, _COSINES)
        flops += _ROTATION * batch * length * (heads + kept_heads) * columns
    return flops


def grouped_touched(layer: Layer, operator: Operator) -> dict[int, int]:
    """Of the kept keys and values those that queries attend to, or all before the query if they
    are written elsewhere with the new ones; in place only the new ones are written. `_Kept`
    says where that is.
    """
    touched = {}
    before, length, window, in_place = _kept(layer, operator)
    for kept, result in ((3, 1), (4, 2)):
        if not _has(operator.inputs, kept):
            continue
        shape = _shape(layer, operator.inputs[kept])
        written = _has(operator.outputs, result)
        copied = written and not in_place
        read = min(before, window - 1) if window and not copied else before
        touched[operator.inputs[kept]] = prod(shape[:2]) * min(read, shape[2]) * shape[3]
        if written and in_place:
            new = prod(shape[:2]) * min(length, shape[2]) * shape[3]
            touched[operator.outputs[result]] = new
    return touched


def _kept(layer: Layer, operator: Operator) -> _Kept:
    length = _shape(layer, operator.inputs[0])[1]
    kept = _shape(layer, operator.inputs[3])[2] if _has(operator.inputs, 3) else 0
    after = _shape(layer, operator.outputs[1])[2] if _has(operator.outputs, 1) else kept + length
    total = elements(layer, operator, 6) or [after]
    window = max(0, operator.integer("local_window_size"))
    return _Kept(max(0, total[0] - length), length, window, in_place=kept == after)


def _pairs(operator: Operator, kept: _Kept) -> int:
    """Of a query and a key to which it attends."""
    before, length, window, _ = kept
    if operator.attribute("causal") == 0:
        return length * (before + length)
    left = window - 1 if window else None
    return Attended(length, before + length, before, left, 0).pairs()


def _has(places: tuple[int, ...], place: int) -> bool:
    return place < len(places) and places[place] != OMITTED


def _shape(layer: Layer, place: int) -> Shape:
    return layer.tensors[place].shape
