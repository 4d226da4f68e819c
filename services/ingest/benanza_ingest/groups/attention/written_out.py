"""Attention with sinks, whose scores are written out, always in the same way."""

from collections.abc import Sequence

import numpy as np

from benanza_ingest.groups.attention.layouts import Shape
from benanza_ingest.groups.attention.maker import Maker
from benanza_ingest.groups.attention.scores import rounded
from benanza_schemas.layer import OMITTED, Tensor


def attention_with_sinks(maker: Maker, operands: Sequence[int], sinks: int, scale: float) -> int:
    """The result by batch, head, row and column, of queries, keys, values and perhaps a mask.

    `sinks` have a number for each head. Heads that share keys and values are an axis of their own,
    along which these are repeated by the product.
    """
    query, key, value = operands[:3]
    mask = operands[3] if len(operands) > 3 else OMITTED
    batch, heads, rows, _ = maker.tensors[query].shape
    key_heads, keys, width = maker.tensors[value].shape[1:]
    shared = heads // key_heads

    def by_key_head(index: int) -> int:
        first, own, *matrix = maker.tensors[index].shape
        split = (own // shared, shared) if own == heads else (own, 1)
        return maker.reshaped(index, (first, *split, *matrix)) if shared > 1 else index

    query, key, value, sinks = map(by_key_head, (query, key, value, sinks))
    lead = maker.tensors[query].shape[:-2]
    dtype = maker.tensors[query].dtype
    rank = len(lead) + 2
    turned = maker.transposed(key, (*range(rank - 2), rank - 1, rank - 2))
    scores = maker.add("MatMul", (query, turned), Tensor(dtype, (*lead, rows, keys)))
    if scale != 1:
        scores = _same(maker, "Mul", scores, maker.number(rounded(scale), dtype))
    if mask != OMITTED:
        if maker.tensors[mask].dtype == "bool":
            numbers = maker.number(0.0, dtype), maker.number(-np.inf, dtype)
            mask = maker.add_up("Where", (mask, *numbers))
        scores = _same(maker, "Add", scores, by_key_head(mask))
    repeated = maker.expanded(sinks, (*lead, rows, 1))
    wider: Shape = (*lead, rows, keys + 1)
    last = (("axis", -1),)
    joined = maker.add("Concat", (scores, repeated), Tensor(dtype, wider), last)
    weights = maker.add("Softmax", (joined,), Tensor(dtype, wider), last)
    weights = maker.cut(weights, (0,) * rank, (*lead, rows, keys))
    made = maker.add("MatMul", (weights, value), Tensor(dtype, (*lead, rows, width)))
    return maker.reshaped(made, (batch, heads, rows, width))


def _same(maker: Maker, op_type: str, index: int, other: int) -> int:
    return maker.add(op_type, (index, other), maker.tensors[index])
