"""The layer of an attention: operators that move, then one `Attention`, then operators that move.

What moves follows from where the elements are in memory alone, not from how the model moves them,
so that the same function has the same layer.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from benanza_ingest.groups.attention.heads import Heads
from benanza_ingest.groups.attention.layouts import Placed
from benanza_ingest.groups.attention.maker import Maker, order_of
from benanza_ingest.groups.attention.scores import Term, rounded
from benanza_ingest.groups.attention.written_out import attention_with_sinks
from benanza_schemas.layer import OMITTED, Layer, Tensor

SAME_SCALE = 1e-6
"""Scales that differ by less are the same: exporters multiply by rounded square roots."""

OPSET = 23
"""The first opset that has Attention. All operators of the layer have its versions."""

COUNTS_KEYS = 24
"""The first opset whose Attention is told how many keys count, for layers that need that."""


class Function(NamedTuple):
    """What an attention computes of its operands.

    `terms` are those of `Scores`. `given` are attributes of ONNX's operator other than `scale`.
    `counts_keys` is that of `Match`. With `sinks`, which are the last operand, the scores are
    written out: ONNX's operator has none.
    """

    scale: float
    terms: tuple[Term, ...]
    given: tuple[tuple[str, int | float], ...]
    counts_keys: bool
    sinks: bool = False


class Form(NamedTuple):
    """A layer, not canonical. It begins with the tensors of the model that it reads.

    `written` is the position of the tensor that it writes, and the last one. All operators have
    their versions of the `opset`.
    """

    layer: Layer
    written: int
    opset: int


def normal_form(
    function: Function,
    tensors: tuple[Tensor, ...],
    places: Sequence[int],
    heads: Heads,
    written: Tensor,
) -> Form | None:
    """The layer that reads these tensors of the model; None if ONNX can't say it.

    `places` are the positions of queries, keys, values, and of the terms' tensors; each of the
    views of `heads` is the same one's within that tensor, and the last one is that of the result
    within what is written.
    """
    opset = COUNTS_KEYS if function.counts_keys else OPSET
    maker = Maker(tensors, opset)
    counts = heads.heads, heads.key_heads, heads.key_heads
    operands = []
    for place, view, count in zip(places, heads.views, counts, strict=False):
        shape = heads.batch, count, *view.shape()[2:]
        index = maker.seen(place, view, shape)
        if index is None:
            return None
        operands.append(index)
    last = -1 if function.sinks else None
    mask = _mask(maker, function.terms, places[3:last], heads.views[3:-1][:last], written.dtype)
    if mask is None:
        return None
    if mask != OMITTED:
        # ONNX broadcasts any axes, but ONNX Runtime none of the last two.
        *lead, _, _ = maker.tensors[mask].shape
        queries, keys = (maker.tensors[index].shape[2] for index in operands[:2])
        operands.append(maker.expanded(mask, (*lead, queries, keys)))
    if function.counts_keys:
        count = maker.tensors[operands[1]].shape[2]
        counted = maker.constant(np.full(heads.batch, count, np.int64), "int64")
        operands += [*(OMITTED,) * (6 - len(operands)), counted]
    query, value = (maker.tensors[index] for index in (operands[0], operands[2]))
    if function.sinks:
        sinks = maker.seen(places[-1], heads.views[-2], (1, heads.heads, 1, 1))
        if sinks is None:
            return None
        result = attention_with_sinks(maker, operands, sinks, function.scale)
    else:
        result = maker.add(
            "Attention",
            tuple(operands),
            Tensor(written.dtype, (*query.shape[:3], value.shape[3])),
            (*function.given, *_scale(function.scale, query.shape[3])),
        )
    order = order_of(heads.views[-1])
    moved = [axis for axis in order if heads.views[-1].axes[axis]]
    if moved != sorted(moved):
        result = maker.transposed(result, order)
    end = maker.reshaped(result, written.shape)
    return Form(Layer(tuple(maker.tensors), tuple(maker.operators), (end,)), end, opset)


def _scale(scale: float, size: int) -> tuple[tuple[str, float], ...]:
    """The attribute for a scale; none for that which ONNX takes for rows of this size."""
    usual = 1 / sqrt(size)
    if abs(scale - usual) <= SAME_SCALE * usual:
        return ()
    return (("scale", rounded(scale)),)


def _mask(
    maker: Maker,
    terms: tuple[Term, ...],
    places: Sequence[int],
    views: Sequence[Placed],
    dtype: str,
) -> int | None:
    """The tensor that masks the scores, or `OMITTED`; None if ONNX can't say it."""
    mask = OMITTED
    remaining = list(zip(places, views, strict=True))
    for term in terms:
        if not term.name:
            mask = maker.add_up("Mul", (mask, maker.number(term.factor, dtype)))
            continue
        place, view = remaining.pop(0)
        tensor = maker.broadcast(place, view)
        if tensor is None:
            return None
        if not term.chosen:
            mask = tensor if mask == OMITTED else maker.add_up("Add", (mask, tensor))
        elif len(terms) == 1 and term.chosen == (None, -np.inf):
            mask = tensor
        else:
            unchanged = maker.number(0.0, dtype) if mask == OMITTED else mask
            branches = [
                unchanged if number is None else maker.number(number, dtype)
                for number in term.chosen
            ]
            mask = maker.add_up("Where", (tensor, *branches))
    return mask
