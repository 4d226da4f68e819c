"""Keeps states in place: what a model reads as an input and returns, changed in a few places.

A framework keeps a state, such as a decoder's keys and values, in one buffer: it writes what is new
there, and readers read old and new where they lie. So a node that would copy the state becomes a
copy of what is new, and what it wrote becomes an input of the graph: the buffer.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace
from onnx import NodeProto, helper

from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.types import TensorType, tensor_type
from benanza_schemas.operators.table import RESHAPING

_SCATTERING = {"ScatterElements": 2, "ScatterND": 2, "TensorScatter": 1}
"""Operators that write parts into a copy of their first input, and which input the parts are."""

_KEEPING = {
    ("", "Attention"): ((4, 1), (5, 2)),
    ("com.microsoft", "GroupQueryAttention"): ((3, 1), (4, 2)),
    ("com.microsoft", "MultiHeadAttention"): ((6, 1), (7, 2)),
}
"""Operators that append to states: the places of each among their inputs and outputs."""

READ_ELSEWHERE = "something else reads what the state was before"
SEVERAL = "several outputs follow from one input"
REORDERED = "its sequences are reordered"
CAUSAL = "several new queries are causal behind what is kept"
NO_BUFFER = "its operator takes no buffer that is longer than what is kept"
OTHER_FORM = "something else reads it with its heads apart"


class KeptState(msgspec.Struct, frozen=True):
    """A state of a model.

    `writer` is the first output of the node that writes it. `copied` says why that copies it, empty
    if it is in place. `as_written` is a node that copies it, where it is in place.
    """

    writer: str
    copied: str = ""
    as_written: Node | None = None


class _Kept(NamedTuple):
    """A state: `after` is `before` with `new` at some places."""

    before: str
    new: str
    after: str


def keep_states_in_place(graph: Graph) -> tuple[KeptState, ...]:
    """Changes the graph so that its states are in place, where that is known to be right. Returns
    all states that were found.
    """
    return _InPlace(graph).run()


class _InPlace:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._types = graph.types
        self._writers = {name: node for node in graph.nodes for name in node.outputs if name}
        self._readers = Counter(
            name for node in graph.nodes for name in {*node.inputs, *node.captured}
        )
        self._slides: dict[str, Node] = {}
        self._returned = {self._written(name) for name in graph.outputs}
        self._new: dict[str, str] = {}
        self._states: list[KeptState] = []

    def run(self) -> tuple[KeptState, ...]:
        kept = [self._kept(node) for node in self._graph.nodes]
        sources = Counter(self._source(one.before) for of_node in kept for one in of_node)
        nodes: list[Node] = []
        for node, of_node in zip(self._graph.nodes, kept, strict=True):
            # An operator keeps both its keys and its values in place, or neither.
            reasons = [self._why_copied(node, one, sources) for one in of_node]
            reason = next(filter(None, reasons), "")
            if of_node and not reason:
                nodes += self._in_place(node, of_node)
            else:
                nodes.append(node)
                self._states += [KeptState(node.first_output(), reason) for _ in of_node]
        graph = self._graph
        graph.nodes = nodes
        graph.outputs = [name for name in graph.outputs if name not in self._new]
        graph.outputs += self._new.values()
        for node in nodes if self._new else ():
            node.captured += tuple([self._new[name] for name in node.inputs if name in self._new])
        return tuple(self._states)

    def _type(self, name: str) -> TensorType:
        known = self._types[name]
        assert known is not None, "a state has a type that is known"
        return known

    def _source(self, name: str) -> str:
        """The value that this one is a view of."""
        while (node := self._writers.get(name)) is not None:
            if node.domain or node.op_type not in RESHAPING or not node.inputs:
                break
            name = node.inputs[0]
        return name

    def _written(self, output: str) -> str:
        """The value that an output of the graph is a view of, or the last rows of."""
        name = self._source(output)
        node = self._writers.get(name)
        if node is None or node.domain or node.op_type != "Slice":
            return name
        whole = self._source(node.inputs[0])
        self._slides[whole] = node
        return whole

    def _kept(self, node: Node) -> list[_Kept]:
        """The states that a node changes in a few places, and that the model returns."""
        inputs, after = node.inputs, node.outputs[0]
        places = _KEEPING.get((node.domain, node.op_type))
        if places is not None:
            kept = [
                _Kept(inputs[before], "", node.outputs[of])
                for before, of in places
                if before < len(inputs) and of < len(node.outputs)
            ]
        elif node.domain:
            return []
        elif node.op_type == "Concat" and len(inputs) == 2:
            kept = [_Kept(inputs[0], inputs[1], after)]
        elif node.op_type in _SCATTERING:
            kept = [_Kept(inputs[0], inputs[_SCATTERING[node.op_type]], after)]
        else:
            return []
        kept = [one for one in kept if one.after in self._returned and self._is_state(one)]
        # ONNX's Attention has former keys and values, or neither.
        if node.op_type == "Attention" and not (len(kept) == 2 and self._are_known(inputs[:3])):
            return []
        return kept

    def _is_state(self, kept: _Kept) -> bool:
        if kept.new and self._is_given(self._source(kept.new)):
            return False  # one of the model's inputs and another, joined
        if not self._are_known(filter(None, kept)):
            return False
        if kept.after in self._slides and not self._is_slid(kept):
            return False
        source = self._source(kept.before)
        return self._is_given(source) or self._is_reordered(source)

    def _are_known(self, names: Iterable[str]) -> bool:
        return all((known := self._types.get(name)) and known.resolved for name in names)

    def _is_given(self, name: str) -> bool:
        return bool(name) and name not in self._writers and name not in self._graph.constants

    def _is_reordered(self, name: str) -> bool:
        node = self._writers.get(name)
        if node is None or node.domain or node.op_type != "Gather":
            return False
        return self._is_given(node.inputs[0])

    def _is_slid(self, kept: _Kept) -> bool:
        """Whether what is returned are the last rows, as many as there were before."""
        node = self._slides[kept.after]
        before, after = (self._type(name).dims() for name in (kept.before, kept.after))
        if self._types[node.outputs[0]] != self._types[kept.before] or len(before) != len(after):
            return False
        starts = self._graph.constants.value(node.inputs[1])
        lengths = [(size, was) for size, was in zip(after, before, strict=True) if size != was]
        if starts is None or starts.size != 1 or len(lengths) != 1:
            return False
        ((size, was),) = lengths
        return int(starts.ravel()[0]) % size == size - was

    def _why_copied(self, node: Node, kept: _Kept, sources: Counter[str]) -> str:
        source = self._source(kept.before)
        if not self._is_given(source):
            return REORDERED
        if sources[source] > 1:
            return SEVERAL
        if node.op_type in _SCATTERING and self._is_read_elsewhere(kept.before):
            return READ_ELSEWHERE
        if node.op_type == "MultiHeadAttention":
            return NO_BUFFER
        if node.op_type == "Attention":
            query, key = (self._type(name).dims() for name in node.inputs[:2])
            if query[-2] > 1 and _is_causal(node) and self._type(kept.before).elements():
                return CAUSAL
            if len(key) == 3 and self._readers[kept.after]:
                return OTHER_FORM
        return ""

    def _is_read_elsewhere(self, name: str) -> bool:
        """Whether more than one node reads a value, or what it is a view of."""
        while self._readers[name] < 2 and (node := self._writers.get(name)) is not None:
            name = node.inputs[0]
        return self._readers[name] > 1

    def _in_place(self, node: Node, kept: list[_Kept]) -> list[Node]:
        """What runs instead of a node that changes these states."""
        if (node.domain, node.op_type) == ("", "Attention"):
            return self._attention(node, kept)
        if node.op_type == "GroupQueryAttention":
            return [self._grouped_attention(node, kept)]
        (state,) = kept
        if state.after in self._slides:
            self._slides[state.after].in_place = True
        return [self._append(node, state.new, state.after, as_written=node)]

    def _append(self, node: Node, new: str, buffer: str, *, as_written: Node) -> Node:
        """Writes what is new into the buffer, which others read."""
        name = f"{buffer}/new"
        self._states.append(KeptState(name, as_written=as_written))
        self._new[buffer] = name
        self._types[name] = self._types[new]
        proto = helper.make_node("Identity", [new], [name], node.name)
        return Node(proto, node.title(), "Identity", "", (new,), (name,), appends=True)

    def _grouped_attention(self, node: Node, kept: list[_Kept]) -> Node:
        """The operator with its states in buffers, which are as long before as after."""
        names, as_written = {}, replace(node)
        for state in kept:
            if self._types[state.before] != self._types[state.after]:
                names[state.before] = f"{state.after}/buffer"
                self._types[names[state.before]] = self._types[state.after]
            self._states.append(KeptState(node.first_output(), as_written=as_written))
        node.inputs = tuple([names.get(name, name) for name in node.inputs])
        return node

    def _flat(self, name: str, new: str) -> str:
        """Such a state by batch, place and column, as the new part has it."""
        known = self._type(new)
        batch, _, width = known.dims()
        self._types[f"{name}/flat"] = tensor_type(
            known.dtype, (batch, self._type(name).dims()[2], width)
        )
        return f"{name}/flat"

    def _attention(self, node: Node, kept: list[_Kept]) -> list[Node]:
        """The operator behind what appends the new keys and values to buffers that it reads."""
        query, *new = node.inputs[:3]
        buffers, appends = [], []
        for name, state in zip(new, kept, strict=True):
            before, buffer = state.before, state.after
            if len(self._type(name).dims()) == 3:
                before, buffer = self._flat(before, name), self._flat(buffer, name)
            copies = _joined(node, (before, name), buffer, len(self._type(name).dims()) - 2)
            buffers.append(buffer)
            appends.append(self._append(node, name, buffer, as_written=copies))
        proto = NodeProto()
        proto.CopyFrom(node.proto)
        if self._type(query).dims()[-2] == 1:  # it sees all keys, as does one that isn't causal
            kept_attributes = [a for a in proto.attribute if a.name != "is_causal"]
            del proto.attribute[:]
            proto.attribute.extend(kept_attributes)
        without_past = replace(
            node,
            proto=proto,
            inputs=(query, *buffers, *node.inputs[3:4]),
            outputs=(node.outputs[0], "", "", *node.outputs[3:]),
        )
        return [*appends, without_past]


def _joined(node: Node, parts: tuple[str, str], whole: str, axis: int) -> Node:
    """A node, with this one's name, that joins what is kept with what is new."""
    proto = helper.make_node("Concat", parts, [whole], node.name, axis=axis)
    return Node(proto, node.title(), "Concat", "", parts, (whole,))


def _is_causal(node: Node) -> bool:
    return any(a.name == "is_causal" and a.i for a in node.proto.attribute)
