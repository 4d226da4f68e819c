"""Keeps states in place: what a model reads as an input and returns, changed in a few places.

A framework keeps a state, such as a decoder's keys and values, in one buffer: it writes what is new
there, and readers read old and new where they lie. So a node that would copy the state becomes a
copy of what is new, and what it wrote becomes an input of the graph: the buffer.
"""

from collections.abc import Collection, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace
from onnx import NodeProto, helper

from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.types import tensor_type
from benanza_ingest.states.find import (
    CAUSES,
    Kept,
    find_states,
    has_window,
    is_causal,
    known_type,
)
from benanza_ingest.states.once import change_states_once
from benanza_ingest.states.projected import COUNTS_KEYS, Projections

TOTAL, WINDOW_CACHE = 6, "sliding_window_cache"
"""Of GroupQueryAttention: the place of the number of all keys, and what says that its caches have
room for a window alone.
"""


class KeptState(msgspec.Struct, frozen=True):
    """A state of a model.

    `writer` is the first output of the node that writes it. `copied` says why that copies it, empty
    if it is in place. `as_written` is a node that copies it, where it is in place.
    """

    writer: str
    copied: str = ""
    as_written: Node | None = None


def keep_states_in_place(graph: Graph) -> tuple[KeptState, ...]:
    """Changes the graph so that its states are in place, where that is known to be right, each
    changed once. Returns all states that were found.
    """
    change_states_once(graph)
    return _InPlace(graph).run()


class _InPlace:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._types = graph.types
        self._new: dict[str, str] = {}
        self._states: list[KeptState] = []
        self._projections = Projections(graph)

    def run(self) -> tuple[KeptState, ...]:
        graph = self._graph
        nodes: list[Node] = []
        for node, (kept, why_copied) in zip(graph.nodes, find_states(graph), strict=True):
            if kept and not why_copied:
                nodes += self._in_place(node, kept)
            else:
                nodes.append(node)
                self._states += [KeptState(node.first_output(), why_copied) for _ in kept]
        graph.nodes = [node for node in nodes if node.first_output() not in self._new]
        graph.outputs = [name for name in graph.outputs if name not in self._new]
        graph.outputs += dict.fromkeys(self._new.values())
        for node in graph.nodes if self._new else ():
            read = (*node.inputs, *node.captured)
            node.captured += tuple([self._new[name] for name in read if name in self._new])
        return tuple(self._states)

    def _dims(self, name: str) -> tuple[int, ...]:
        return known_type(self._graph, name).dims()

    def _named(self, name: str) -> str:
        """The name, changed if the model has a value that is called so."""
        while name in self._types:
            name += "'"
        return name

    def _in_place(self, node: Node, kept: Sequence[Kept]) -> list[Node]:
        """What runs instead of a node that changes these states."""
        if (node.domain, node.op_type) == ("", "Attention"):
            return self._attention(node, kept)
        if node.op_type == "Attention":
            return self._projected_attention(node, *kept)
        if node.op_type == "MultiHeadAttention":
            return self._multi_head_attention(node, kept)
        if node.op_type == "GroupQueryAttention":
            return [self._grouped_attention(node, kept)]
        (state,) = kept
        where = [name for name in node.inputs[1:] if name and name != state.new]
        append = self._append(node, state.new, state.after, as_written=node)
        append.captured = tuple([name for name in where if name not in self._graph.constants])
        for last_rows in state.last_rows:  # of a buffer that goes round
            self._new[last_rows.outputs[0]] = append.outputs[0]
        return [append]

    def _append(self, node: Node, new: str, buffer: str, *, as_written: Node) -> Node:
        """Writes what is new into the buffer, which others read."""
        name = self._named(f"{buffer}/new")
        self._states.append(KeptState(name, as_written=as_written))
        self._new[buffer] = name
        self._types[name] = self._types[new]
        proto = helper.make_node("Identity", [new], [name], node.name)
        return Node(proto, node.title(), "Identity", "", (new,), (name,), appends=True)

    def _grouped_attention(self, node: Node, kept: Sequence[Kept]) -> Node:
        """The operator with its states in buffers, which are as long before as after."""
        names, as_written = {}, replace(node)
        for state in kept:
            if self._types[state.before] != self._types[state.after]:
                names[state.before] = self._named(f"{state.after}/buffer")
                self._types[names[state.before]] = self._types[state.after]
            self._states.append(KeptState(node.first_output(), as_written=as_written))
        node.inputs = tuple([names.get(name, name) for name in node.inputs])
        return self._going_round(node, kept[0].after)

    def _going_round(self, node: Node, cache: str) -> Node:
        """The operator, whose cache may be only as long as its window. Then what is new takes the
        place of the oldest, which reads and writes as much as where it comes behind.
        """
        is_window = any(a.name == WINDOW_CACHE and a.i for a in node.proto.attribute)
        if not is_window or len(node.inputs) <= TOTAL:
            return node
        total = self._graph.constants.value(node.inputs[TOTAL])
        if total is None or total.size != 1:
            return node
        whole = replace(node, proto=_without(node.proto, (WINDOW_CACHE,)))
        room = self._dims(cache)[2]
        if total.item() > room:
            name = self._named(f"{cache}/room")
            self._graph.constants.add_array(name, np.array(room, np.int32))
            whole.inputs = (*node.inputs[:TOTAL], name, *node.inputs[TOTAL + 1 :])
        return whole

    def _flat(self, name: str, new: str) -> str:
        """Such a state by batch, place and column, as the new part has it."""
        known, flat = known_type(self._graph, new), self._named(f"{name}/flat")
        batch, _, width = known.dims()
        self._types[flat] = tensor_type(known.dtype, (batch, self._dims(name)[-2], width))
        return flat

    def _attention(self, node: Node, kept: Sequence[Kept]) -> list[Node]:
        """The operator behind what appends the new keys and values to buffers that it reads.

        Where its queries' places decide what they see, it is told that all keys count: then the
        last query has the place of the last key, as it had behind former keys.
        """
        query, *new = node.inputs[:3]
        buffers, appends = [], []
        for name, state in zip(new, kept, strict=True):
            before, buffer = state.before, state.after
            if len(self._dims(name)) == 3:
                before, buffer = self._flat(before, name), self._flat(buffer, name)
            copies = _joined(node, (before, name), buffer, len(self._dims(name)) - 2)
            buffers.append(buffer)
            appends.append(self._append(node, name, buffer, as_written=copies))
        without_past = replace(
            node if self._dims(query)[-2] > 1 else _seeing_all(node),
            inputs=(query, *buffers, *node.inputs[3:4]),
            outputs=(node.outputs[0], "", "", *node.outputs[3:]),
        )
        places_decide = is_causal(without_past) or has_window(without_past)
        if places_decide and known_type(self._graph, kept[0].before).elements():
            mask = next(iter(node.inputs[3:4]), "")
            counted = self._number_of_keys(query, buffers[0])
            without_past.inputs = (query, *buffers, mask, "", "", counted)
            without_past.opset, without_past.deciding = COUNTS_KEYS, (6,)
        return [*appends, without_past]

    def _multi_head_attention(self, node: Node, kept: Sequence[Kept]) -> list[Node]:
        """The operator behind what appends the new keys and values to buffers by head, which it
        reads as it does those of an encoder.
        """
        appends = []
        for name, state in zip(node.inputs[1:3], kept, strict=True):
            before, after = self._flat(state.before, name), self._flat(state.after, name)
            copies = _joined(node, (before, name), after, 1)
            appends.append(self._append(node, name, state.after, as_written=copies))
        without_past = replace(
            _seeing_all(node),
            inputs=(node.inputs[0], *(state.after for state in kept), *node.inputs[3:6]),
            outputs=node.outputs[:1],
        )
        return [*appends, without_past]

    def _projected_attention(self, node: Node, state: Kept) -> list[Node]:
        """An attention to both halves of a buffer, behind what computes and appends what is new."""
        before, new, halves, behind = self._projections.write(node, state)
        copies = _joined(
            node, (self._flat(state.before, new), new), self._flat(state.after, new), 1
        )
        copies.part_of = node.first_output()
        append = self._append(node, new, state.after, as_written=copies)
        self._new |= dict.fromkeys(halves, append.outputs[0])
        return [*before, append, *behind]

    def _number_of_keys(self, query: str, keys: str) -> str:
        """A constant: how many keys there are, for each item of the batch."""
        name = self._named(f"{keys}/count")
        counts = np.full(self._dims(query)[0], self._dims(keys)[-2], np.int64)
        self._graph.constants.add_array(name, counts)
        return name


def _seeing_all(node: Node) -> Node:
    """An attention of one query, or of none that is causal, without what says if it is."""
    return replace(node, proto=_without(node.proto, CAUSES))


def _without(proto: NodeProto, attributes: Collection[str]) -> NodeProto:
    """A copy without some attributes."""
    copy = NodeProto()
    copy.CopyFrom(proto)
    del copy.attribute[:]
    copy.attribute.extend(a for a in proto.attribute if a.name not in attributes)
    return copy


def _joined(node: Node, parts: tuple[str, str], whole: str, axis: int) -> Node:
    """A node, with this one's name, that joins what is kept with what is new."""
    proto = helper.make_node("Concat", parts, [whole], node.name, axis=axis)
    return Node(proto, node.title(), "Concat", "", parts, (whole,))
