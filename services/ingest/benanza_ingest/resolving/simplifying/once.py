"""Nodes that compute what another node computes, and nodes that compute what they read.

Equal operators with equal inputs have equal results, but for those that draw numbers. Small
constants are equal by value. Sources: common_subexpression_elimination.cc, noop_elimination.cc and
cast_chain_elimination.cc of ONNX Runtime 1.31.
"""

from collections.abc import Hashable

import numpy as np

from benanza_ingest.resolving.graph import CONTROL_FLOW, RANDOM, Graph, Node
from benanza_ingest.resolving.operators import attributes, read_attribute, since_version
from benanza_ingest.resolving.sequences import OPERATORS as OF_SEQUENCES

MOST_COMPARED = 8
"""Elements of a constant that is equal to others by value: ONNX Runtime compares no larger ones
(constant_sharing.cc), and those of a file without its weights look equal, and aren't."""

_APART = RANDOM | CONTROL_FLOW | OF_SEQUENCES | {"DequantizeLinear"}
"""Operators that stay apart. ONNX Runtime gives each reader a DequantizeLinear of its own, with
which it is fused (ensure_unique_dq_for_node_unit.cc)."""

_NEUTRAL = {"Add": (0, (0, 1)), "Div": (1, (1,)), "Mul": (1, (0, 1)), "Sub": (0, (1,))}
"""By operator, the number that changes nothing, and the inputs at which it may stand."""

_LOSSLESS = frozenset(
    (narrow, wide)
    for wide, kept in {
        "float32": ("float16", "bfloat16", "int8", "uint8", "int16", "uint16"),
        "float64": ("float16", "bfloat16", "float32", "int8", "uint8", "int16", "uint16", "int32"),
        "int32": ("int8", "uint8", "int16", "uint16"),
        "int64": ("int8", "uint8", "int16", "uint16", "int32", "uint32"),
    }.items()
    for narrow in (*kept, "bool", wide)
)
"""Pairs of types of which the second holds all numbers of the first."""


class Once:
    """Lets each reader of a graph's repeated values read the first of them."""

    def __init__(self, graph: Graph, opsets: dict[str, int]) -> None:
        self._graph = graph
        self._opsets = opsets
        self._outputs = frozenset(graph.outputs)
        self._instead: dict[str, str] = {}
        self._casts: dict[str, Node] = {}
        self._alike: dict[Hashable, Node] = {}
        self._equal: dict[Hashable, Node] = {}

    def apply(self) -> None:
        """Changes what the graph's nodes read, and leaves repeated nodes out."""
        self._graph.nodes = [node for node in self._graph.nodes if not self._is_left_out(node)]
        for node in self._graph.nodes:
            self._read_instead(node)

    def _read_instead(self, node: Node) -> None:
        if self._instead:
            node.inputs = tuple([self._last(name) for name in node.inputs])
            node.captured = tuple([self._last(name) for name in node.captured])

    def _last(self, name: str) -> str:
        while name in self._instead:
            name = self._instead[name]
        return name

    def _is_left_out(self, node: Node) -> bool:
        self._read_instead(node)
        source = "" if node.domain or len(node.outputs) > 1 else self._passed_on(node)
        if source and node.outputs[0] not in self._outputs:
            self._instead[node.outputs[0]] = source
            return True
        first = self._first(node)
        if first is None:
            return False
        # The model's outputs keep their names; an output that nothing reads has none.
        stays, goes = first.outputs, node.outputs
        if not self._outputs.isdisjoint(goes):
            stays, goes = goes, stays
        if not self._outputs.isdisjoint(goes):
            return False
        first.outputs = tuple([a or b for a, b in zip(stays, goes, strict=True)])
        self._instead.update([(b, a) for a, b in zip(stays, goes, strict=True) if a and b])
        return True

    def _passed_on(self, node: Node) -> str:
        """The input that is the node's result as well; "" if there is none."""
        types = self._graph.types
        if node.op_type == "Cast" and len(node.inputs) == 1:
            return self._cast_back(node)
        number, places = _NEUTRAL.get(node.op_type, (0, ())) if len(node.inputs) == 2 else (0, ())
        for place in places:
            data, other = node.inputs[1 - place], node.inputs[place]
            same = types.get(data) == types.get(node.outputs[0])
            if same and types.get(data) is not None and self._is_number(other, number):
                return data
        return ""

    def _is_number(self, name: str, wanted: int) -> bool:
        known, constants = self._graph.types.get(name), self._graph.constants
        if name not in constants or known is None or not known.resolved or known.elements() != 1:
            return False
        value = constants.value(name)
        return value is not None and value.size == 1 and bool((value == wanted).all())

    def _cast_back(self, node: Node) -> str:
        """What was cast to another type and now is cast back; notes what a Cast reads."""
        before, types = self._casts.get(node.inputs[0]), self._graph.types
        self._casts[node.outputs[0]] = node
        if before is None:
            return ""
        first, between = types.get(before.inputs[0]), types.get(node.inputs[0])
        if first is None or between is None or (first.dtype, between.dtype) not in _LOSSLESS:
            return ""
        node.inputs = before.inputs[:1]
        return node.inputs[0] if types.get(node.outputs[0]) == first else ""

    def _first(self, node: Node) -> Node | None:
        """The node before this one that computes the same; None if there is none."""
        if node.op_type in _APART or node.captured:
            return None
        alike = (node.op_type, node.domain, self._values(node), len(node.outputs))
        other = self._alike.setdefault(alike, node)
        version = since_version(node.op_type, node.domain, self._opsets.get(node.domain))
        if other is node or version is None:
            return None
        try:
            self._equal.setdefault((alike, self._look(other, version)), other)
            found = self._equal.setdefault((alike, self._look(node, version)), node)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return None  # It isn't as ONNX defines it: its layer says so.
        return None if found is node else found

    def _values(self, node: Node) -> tuple[str, ...]:
        """What a node reads, but for constants, which may be equal and have two names."""
        constants = self._graph.constants
        return tuple(["" if name in constants else name for name in node.inputs])

    def _look(self, node: Node, version: int) -> Hashable:
        given = [read_attribute(each.SerializeToString()) for each in node.proto.attribute]
        chosen = attributes(node.op_type, node.domain, version, given, None)
        return chosen, tuple([self._constant(name) for name in node.inputs])

    def _constant(self, name: str) -> Hashable:
        if name not in self._graph.constants:
            return ""
        value = self._graph.constants.value(name)
        if value is None or value.dtype == np.object_ or value.size > MOST_COMPARED:
            return name
        return value.dtype.name, value.shape, value.tobytes()
