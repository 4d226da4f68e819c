"""Finds a model's states: what it reads as an input and returns, changed in a few places.

They are found by what flows, not by names: a view of a state is the state. It isn't asked along
which axis something is appended, nor who reads the whole: tokens, features and steps of time look
alike there, and a framework that is told of the state may keep any of these in a buffer. So a bound
holds in any case; with a copy that a framework needn't make, it would be too high.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.types import TensorType
from benanza_schemas.operators.table import RESHAPING

_SCATTERING = {"ScatterElements": 2, "ScatterND": 2, "TensorScatter": 1}
"""Operators that write parts into a copy of their first input, and which input the parts are. The
others say where, and aren't counted where the state is in place."""

WRITING = frozenset(("Concat", *_SCATTERING))
"""Operators of ONNX that may change one state, their result."""

_KEEPING = {
    ("", "Attention"): ((4, 1), (5, 2)),
    ("com.microsoft", "Attention"): ((4, 1),),
    ("com.microsoft", "GroupQueryAttention"): ((3, 1), (4, 2)),
    ("com.microsoft", "MultiHeadAttention"): ((6, 1), (7, 2)),
}
"""Operators that append to states: the places of each among their inputs and outputs."""

Shape = tuple[int, ...]

READ_ELSEWHERE = "something else reads what the state was before"
SEVERAL = "several outputs follow from one input"
IN_STEPS = "several nodes change it, one after the other"
REORDERED = "its sequences are reordered"
COMBINED = "what is new is combined with what was there"
CAUSAL = "which keys its queries see can't be said of a buffer"
NO_BUFFER = "its operator takes no buffer that is longer than what is kept"
BIASED = "its operator adds a bias to what is new"
OTHER_FORM = "something else reads it with its heads apart"
NO_FORM = "ONNX's own operators have no attention with its mask, its sizes or its rotation"


class Kept(NamedTuple):
    """A state: `after` is `before` with `new` at some places. `new` is empty for an operator that
    computes it itself. `last_rows` are Slices of `after` that the model returns, of as many rows as
    there were before.
    """

    before: str
    new: str
    after: str
    last_rows: tuple[Node, ...] = ()


class Finding(NamedTuple):
    """What a node keeps, and why it has to copy that, empty where it may be in place."""

    kept: tuple[Kept, ...]
    why_copied: str


def find_states(graph: Graph) -> list[Finding]:
    """The states that each node of the graph changes; none for most."""
    return _States(graph).of_nodes()


def known_type(graph: Graph, name: str) -> TensorType:
    """The type of a value that a state is made of."""
    known = graph.types[name]
    assert known is not None, "a state has a type that is known"
    return known


class _States:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._types = graph.types
        self._writers = {name: node for node in graph.nodes for name in node.outputs if name}
        self._readers = Counter(
            name for node in graph.nodes for name in {*node.inputs, *node.captured}
        )
        self._slices: dict[str, list[Node]] = {}
        self._returned = {self._written(name) for name in graph.outputs}
        self._changed_on: set[str] = set()
        for node in reversed(graph.nodes):
            changes = not node.domain and node.op_type in WRITING
            if changes and node.outputs[0] in self._returned | self._changed_on:
                self._changed_on.add(self._source(node.inputs[0]))

    def of_nodes(self) -> list[Finding]:
        kept = [self._kept(node) for node in self._graph.nodes]
        sources = Counter(self._source(one.before) for of_node in kept for one in of_node)
        findings = []
        for node, of_node in zip(self._graph.nodes, kept, strict=True):
            # An operator keeps both its keys and its values in place, or neither.
            reasons = (self._why_copied(node, one, sources) for one in of_node)
            why = next(filter(None, reasons), "")
            if why == CAUSAL and not any(self._type(one.before).elements() for one in of_node):
                of_node, why = [], ""  # before the first step there is nothing to copy
            findings.append(Finding(tuple(of_node), why))
        return findings

    def _type(self, name: str) -> TensorType:
        return known_type(self._graph, name)

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
        self._slices.setdefault(whole, []).append(node)
        return name

    def _kept(self, node: Node) -> list[Kept]:
        """The states that a node changes in a few places, and that the model returns."""
        inputs, after = node.inputs, node.outputs[0]
        places = _KEEPING.get((node.domain, node.op_type))
        if places is not None:
            kept = [
                Kept(inputs[before], "", node.outputs[of])
                for before, of in places
                if before < len(inputs) and of < len(node.outputs)
            ]
        elif node.domain:
            return []
        elif node.op_type == "Concat" and len(inputs) == 2:
            kept = [Kept(inputs[0], inputs[1], after)]
        elif node.op_type in _SCATTERING:
            kept = [Kept(inputs[0], inputs[_SCATTERING[node.op_type]], after)]
        else:
            return []
        kept = [one._replace(last_rows=self._last_rows(one)) for one in kept if self._is_state(one)]
        changed = self._returned | self._changed_on
        kept = [one for one in kept if one.after in changed or one.last_rows]
        # Those with two places have former keys and values, or neither.
        if places is not None and node.op_type != "GroupQueryAttention" and len(kept) < len(places):
            return []
        of_onnx = node.op_type == "Attention" and not node.domain
        return [] if of_onnx and not self._are_alike(inputs[:3]) else kept

    def _is_state(self, kept: Kept) -> bool:
        if kept.new and self._is_given(self._source(kept.new)):
            return False  # one of the model's inputs and another, joined
        new = (kept.new,) if kept.new else ()
        if not self._are_known((kept.before, kept.after, *new)):
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

    def _last_rows(self, kept: Kept) -> tuple[Node, ...]:
        """The Slices of a state of which `Kept` tells."""
        before, after = (self._type(name).dims() for name in (kept.before, kept.after))
        if len(before) != len(after):
            return ()
        longer = [axis for axis, size in enumerate(after) if size != before[axis]]
        return tuple(
            node
            for node in self._slices.get(kept.after, ())
            if len(longer) == 1 and self._slices_last(node, longer[0], before, after)
        )

    def _slices_last(self, node: Node, axis: int, before: Shape, after: Shape) -> bool:
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

    def _why_copied(self, node: Node, kept: Kept, sources: Counter[str]) -> str:
        source = self._source(kept.before)
        if not self._is_given(source):
            return REORDERED
        if sources[source] > 1:
            return SEVERAL
        if kept.after not in self._returned and not kept.last_rows:
            return IN_STEPS
        if node.op_type in _SCATTERING:
            if self._is_read_elsewhere(kept.before):
                return READ_ELSEWHERE
            if _combines(node):
                return COMBINED
        if node.op_type == "MultiHeadAttention":
            return self._why_no_multi_head(node)
        if node.domain and node.op_type == "Attention":
            return self._why_no_projection(node, kept)
        if node.op_type == "Attention":
            key = self._type(node.inputs[1]).dims()
            if self._type(kept.before).elements() and not self._may_see_a_buffer(node):
                return CAUSAL
            if len(key) == 3 and self._readers[kept.after]:
                return OTHER_FORM
        return ""

    def _why_no_multi_head(self, node: Node) -> str:
        """Why a MultiHeadAttention can't read a buffer as keys and values by head. Then its queries
        have no places, and it takes no bias.
        """
        own_buffer = any(node.inputs[8:10]) or any(node.outputs[3:])
        if (
            own_buffer
            or not self._are_alike(node.inputs[:3])
            or len(self._dims(node.inputs[0])) != 3
        ):
            return NO_BUFFER
        if any(node.inputs[3:4]):
            return BIASED
        is_one = self._dims(node.inputs[0])[1] == 1
        return "" if is_one or not is_causal(node) else CAUSAL

    def _why_no_projection(self, node: Node, kept: Kept) -> str:
        """Why ONNX Runtime's Attention can't be written with a buffer of both keys and values."""
        x, weights, *_ = node.inputs
        mask, bias = (*node.inputs[3:4], "")[0], any(node.inputs[5:6])
        given = {a.name: a.i for a in node.proto.attribute}
        if any(node.inputs[6:]) or given.get("past_present_share_buffer"):
            return NO_BUFFER
        read = (x, weights, node.outputs[0], *([mask] if mask else ()))
        if bias or given.get("do_rotary") or not self._are_known(read):
            return NO_FORM
        (batch, tokens, _), (*_, heads, keys, size) = self._dims(x), self._dims(kept.after)
        widths = self._dims(weights)[-1], self._dims(node.outputs[0])[-1]
        has_mask = not mask or self._dims(mask) in ((batch, keys), (batch, tokens, keys))
        return "" if has_mask and widths == (3 * heads * size, heads * size) else NO_FORM

    def _dims(self, name: str) -> Shape:
        return self._type(name).dims()

    def _may_see_a_buffer(self, node: Node) -> bool:
        """Whether the queries of an Attention can see the same keys where these are in a buffer.

        Where the queries' places decide what they see, the last query's place is that of the last
        key there. A mask that lacks keys is only known to hide them where they are new.
        """
        queries, keys = (self._type(name).dims()[-2] for name in node.inputs[:2])
        if not is_causal(node) and not has_window(node):
            return True
        if queries != keys:
            return False
        if queries == 1 and not has_window(node):
            return True
        masks = [self._types.get(name) for name in node.inputs[3:4] if name]
        whole = self._type(node.outputs[1]).dims()[2]
        return all(mask and mask.resolved and mask.dims()[-1] == whole for mask in masks)

    def _is_read_elsewhere(self, name: str) -> bool:
        """Whether more than one node reads a value, or what it is a view of, or it is returned."""
        while self._readers[name] < 2 and name not in self._graph.outputs:
            node = self._writers.get(name)
            if node is None or node.domain or node.op_type not in RESHAPING:
                return False
            name = node.inputs[0]
        return True


CAUSES = ("is_causal", "unidirectional")
"""Attributes that let a query see no key behind its own place: ONNX's and ONNX Runtime's."""


def is_causal(node: Node) -> bool:
    """Whether a query of an attention sees no key behind its own place."""
    return any(a.name in CAUSES and a.i for a in node.proto.attribute)


def has_window(node: Node) -> bool:
    """Whether a query of an Attention sees only keys near its own place."""
    sizes = ("left_window_size", "right_window_size")
    return any(a.name in sizes and a.i >= 0 for a in node.proto.attribute)


def _combines(node: Node) -> bool:
    """Whether a scatter adds what is new to what was there, or the like."""
    return any(a.name == "reduction" and a.s not in (b"", b"none") for a in node.proto.attribute)
