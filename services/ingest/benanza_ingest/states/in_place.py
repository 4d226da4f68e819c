"""Keeps states in place: what a model reads as an input and returns, changed in a few places.

A framework keeps a state, such as a decoder's keys and values, in one buffer: it writes what is new
there, and readers read old and new where they lie. So a node that would copy the state becomes a
copy of what is new, and what it wrote becomes an input of the graph: the buffer.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace
from onnx import NodeProto, helper

from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.types import TensorType, tensor_type
from benanza_schemas.operators.table import RESHAPING

_SCATTERING = {"ScatterElements": 2, "ScatterND": 2, "TensorScatter": 1}
"""Operators that write parts into a copy of their first input, and which input the parts are. The
others say where, and aren't counted where the state is in place."""

_KEEPING = {
    ("", "Attention"): ((4, 1), (5, 2)),
    ("com.microsoft", "GroupQueryAttention"): ((3, 1), (4, 2)),
    ("com.microsoft", "MultiHeadAttention"): ((6, 1), (7, 2)),
}
"""Operators that append to states: the places of each among their inputs and outputs."""

Shape = tuple[int, ...]

READ_ELSEWHERE = "something else reads what the state was before"
SEVERAL = "several outputs follow from one input"
REORDERED = "its sequences are reordered"
COMBINED = "what is new is combined with what was there"
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
        self._slides: dict[str, list[Node]] = {}
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
        graph.nodes = [node for node in nodes if node.first_output() not in self._new]
        graph.outputs = [name for name in graph.outputs if name not in self._new]
        graph.outputs += dict.fromkeys(self._new.values())
        for node in graph.nodes if self._new else ():
            read = (*node.inputs, *node.captured)
            node.captured += tuple([self._new[name] for name in read if name in self._new])
        return tuple(self._states)

    def _named(self, name: str) -> str:
        """The name, changed if the model has a value that is called so."""
        while name in self._types:
            name += "'"
        return name

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
        """The value that an output of the graph is a view of, or may be the last rows of."""
        name = self._source(output)
        node = self._writers.get(name)
        if name != output or node is None or node.domain or node.op_type != "Slice":
            return name
        whole = self._source(node.inputs[0])
        self._slides.setdefault(whole, []).append(node)
        return name

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
        kept = [one for one in kept if self._is_returned(one) and self._is_state(one)]
        # ONNX's Attention has former keys and values, or neither.
        if node.op_type == "Attention" and (len(kept) < 2 or not self._are_alike(inputs[:3])):
            return []
        return kept

    def _is_returned(self, kept: _Kept) -> bool:
        return kept.after in self._returned or bool(self._slid(kept))

    def _is_state(self, kept: _Kept) -> bool:
        if kept.new and self._is_given(self._source(kept.new)):
            return False  # one of the model's inputs and another, joined
        if not self._are_known(filter(None, kept)):
            return False
        source = self._source(kept.before)
        return self._is_given(source) or self._is_reordered(source)

    def _are_known(self, names: Iterable[str]) -> bool:
        return all((known := self._types.get(name)) and known.resolved for name in names)

    def _are_alike(self, names: Sequence[str]) -> bool:
        """Whether these are known to have three axes each, or four."""
        ranks = {len(self._type(name).dims()) for name in names if self._are_known((name,))}
        return self._are_known(names) and ranks in ({3}, {4})

    def _is_given(self, name: str) -> bool:
        return bool(name) and name not in self._writers and name not in self._graph.constants

    def _is_reordered(self, name: str) -> bool:
        node = self._writers.get(name)
        if node is None or node.domain or node.op_type != "Gather":
            return False
        return self._is_given(node.inputs[0])

    def _slid(self, kept: _Kept) -> list[Node]:
        """What returns the last rows of the state, as many as there were before."""
        if not self._are_known((kept.before, kept.after)):
            return []
        before, after = (self._type(name).dims() for name in (kept.before, kept.after))
        if len(before) != len(after):
            return []
        longer = [axis for axis, size in enumerate(after) if size != before[axis]]
        return [
            node
            for node in self._slides.get(kept.after, ())
            if len(longer) == 1 and self._last_rows(node, longer[0], before, after)
        ]

    def _last_rows(self, node: Node, axis: int, before: Shape, after: Shape) -> bool:
        """Whether a Slice takes the last rows along an axis, as many as there were before. Not for
        one whose places aren't inputs, as before opset 10.
        """
        if len(node.inputs) < 3:
            return False
        values = [self._graph.constants.value(name) if name else None for name in node.inputs[1:5]]
        starts, ends, axes, steps = (*values, None, None)[:4]
        if starts is None or ends is None or starts.size != 1 or ends.size != 1:
            return False
        if steps is not None and (steps != 1).any():
            return False
        sliced = 0 if axes is None else int(axes.ravel()[0]) % len(after)
        rows = range(after[axis])[int(starts.ravel()[0]) : int(ends.ravel()[0])]
        return sliced == axis and rows == range(after[axis])[-before[axis] :]

    def _why_copied(self, node: Node, kept: _Kept, sources: Counter[str]) -> str:
        source = self._source(kept.before)
        if not self._is_given(source):
            return REORDERED
        if sources[source] > 1:
            return SEVERAL
        if node.op_type in _SCATTERING:
            if self._is_read_elsewhere(kept.before):
                return READ_ELSEWHERE
            if any(
                a.name == "reduction" and a.s not in (b"", b"none") for a in node.proto.attribute
            ):
                return COMBINED
        if node.op_type == "MultiHeadAttention":
            return NO_BUFFER
        if node.op_type == "Attention":
            query, key = (self._type(name).dims() for name in node.inputs[:2])
            several = query[-2] > 1 or key[-2] > 1
            if several and _is_causal(node) and self._type(kept.before).elements():
                return CAUSAL
            if len(key) == 3 and self._readers[kept.after]:
                return OTHER_FORM
        return ""

    def _is_read_elsewhere(self, name: str) -> bool:
        """Whether more than one node reads a value, or what it is a view of, or it is returned."""
        while self._readers[name] < 2 and name not in self._graph.outputs:
            node = self._writers.get(name)
            if node is None or node.domain or node.op_type not in RESHAPING:
                return False
            name = node.inputs[0]
        return True

    def _in_place(self, node: Node, kept: list[_Kept]) -> list[Node]:
        """What runs instead of a node that changes these states."""
        if (node.domain, node.op_type) == ("", "Attention"):
            return self._attention(node, kept)
        if node.op_type == "GroupQueryAttention":
            return [self._grouped_attention(node, kept)]
        (state,) = kept
        where = [name for name in node.inputs[1:] if name and name != state.new]
        append = self._append(node, state.new, state.after, as_written=node)
        append.captured = tuple([name for name in where if name not in self._graph.constants])
        for slice_node in self._slid(state):  # of a buffer that goes round, what is newest
            self._new[slice_node.outputs[0]] = append.outputs[0]
        return [append]

    def _append(self, node: Node, new: str, buffer: str, *, as_written: Node) -> Node:
        """Writes what is new into the buffer, which others read."""
        name = self._named(f"{buffer}/new")
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
                names[state.before] = self._named(f"{state.after}/buffer")
                self._types[names[state.before]] = self._types[state.after]
            self._states.append(KeptState(node.first_output(), as_written=as_written))
        node.inputs = tuple([names.get(name, name) for name in node.inputs])
        return node

    def _flat(self, name: str, new: str) -> str:
        """Such a state by batch, place and column, as the new part has it."""
        known, flat = self._type(new), self._named(f"{name}/flat")
        batch, _, width = known.dims()
        self._types[flat] = tensor_type(known.dtype, (batch, self._type(name).dims()[2], width))
        return flat

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


def _combines(node: Node) -> bool:
    """Whether a scatter adds what is new to what was there, or the like."""
    return any(a.name == "reduction" and a.s not in (b"", b"none") for a in node.proto.attribute)
