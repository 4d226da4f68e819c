"""ONNX Runtime's Attention, whose keys and values a model keeps together, as operators of ONNX.

A product makes rows of queries, keys and values. What is new of keys and values is appended to a
buffer by two, batch, head, place and column, of which an attention reads both halves where they
lie. Source: the operator's definition in ONNX Runtime.
"""

from typing import Any, NamedTuple

import numpy as np
from onnx import helper

from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.states.find import Kept
from benanza_ingest.written_out.attention import MASKED, of_keys
from benanza_ingest.written_out.writing import WritingOut

COUNTS_KEYS = 24
"""The first opset whose Attention can be told how many of its keys count."""


class Projected(NamedTuple):
    """The nodes before the new keys and values are written, and those behind that.

    `new` has them by batch, place, and column of both; `halves` are those of the buffer.
    """

    before: list[Node]
    new: str
    halves: tuple[str, str]
    behind: list[Node]


class Projections:
    """Writes the attentions of a graph out. Those that read the same mask share what is added."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._added: dict[object, str] = {}

    def write(self, node: Node, state: Kept) -> Projected:
        """What runs instead of a node that nothing keeps from being in place."""
        writing = WritingOut(self._graph, node)
        given = {a.name: helper.get_attribute_value(a) for a in node.proto.attribute}
        x, weights, bias, *_ = (*node.inputs, "")
        dtype, (batch, tokens, _) = writing.dtype(x), writing.shape(x)
        _, _, heads, keys, size = writing.shape(state.after)
        wide = heads * size
        rows = writing.add("MatMul", (x, weights), (batch, tokens, 3 * wide), dtype)
        if bias:
            rows = writing.add("Add", (rows, bias), (batch, tokens, 3 * wide), dtype)
        query = _columns(writing, rows, 0, wide)
        new = _columns(writing, rows, wide, 3 * wide)
        split, by_head = (batch, tokens, heads, size), (batch, heads, tokens, size)
        query = _reshaped(writing, query, split)
        query = writing.add("Transpose", (query,), by_head, dtype, perm=(0, 2, 1, 3))
        halves = tuple(
            [writing.value(f"{state.after}/{k}", (batch, heads, keys, size), dtype) for k in "kv"]
        )
        before, writing.nodes = writing.nodes, []
        causal = bool(given.get("unidirectional", 0)) and tokens > 1
        counted = ("", "", writing.number(np.full(batch, keys, np.int64))) if causal else ()
        mask = self._mask(writing, node, given, (batch, 1, tokens, keys))
        read = (query, *halves, mask, *counted)
        attended = writing.add(
            "Attention",
            read if mask or causal else read[:3],
            by_head,
            dtype,
            opset=COUNTS_KEYS,
            is_causal=int(causal),
            scale=given.get("scale", 0.0) or size**-0.5,
        )
        writing.nodes[-1].deciding = (6,) if causal else ()
        moved = writing.add("Transpose", (attended,), split, dtype, perm=(0, 2, 1, 3))
        _reshaped(writing, moved, (batch, tokens, wide), node.outputs[0])
        return Projected(before, new, (halves[0], halves[1]), writing.nodes)

    def _mask(
        self, writing: WritingOut, node: Node, given: dict[str, Any], scores: tuple[int, ...]
    ) -> str:
        """What is added to scores of keys that may not count; empty if all do."""
        mask, number = (*node.inputs[3:4], "")[0], given.get("mask_filter_value", MASKED)
        key = mask, number, writing.dtype(node.inputs[0])
        if mask and key not in self._added:
            added, shape = of_keys(writing, mask, number, key[2]), np.array(scores)
            if writing.shape(added) != scores:  # ONNX Runtime wants a row for each query, too.
                added = writing.add("Expand", (added, writing.number(shape)), scores, key[2])
            self._added[key] = added
        return self._added.get(key, "")


def _columns(writing: WritingOut, rows: str, first: int, end: int) -> str:
    shape = *writing.shape(rows)[:2], end - first
    places = [writing.number(np.array([number], np.int64)) for number in (first, end, 2)]
    return writing.add("Slice", (rows, *places), shape, writing.dtype(rows))


def _reshaped(writing: WritingOut, name: str, shape: tuple[int, ...], result: str = "") -> str:
    read = name, writing.number(np.array(shape, np.int64))
    return writing.add("Reshape", read, shape, writing.dtype(name), result=result)
