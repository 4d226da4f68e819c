"""Nodes that compute what another node computes.

Equal operators with equal inputs have equal results: none of these draws numbers. A copy of one
that costs little may be joined with each of its readers, which can take less time than to keep its
result: groups of the simplified graph do so (`groups/simplified`). Small constants are equal by
value. Source: common_subexpression_elimination.cc of ONNX Runtime 1.31.
"""

from collections.abc import Hashable

import numpy as np

from benanza_ingest.resolving.fold import Constants
from benanza_ingest.resolving.graph import Graph, Node, without_dead
from benanza_ingest.resolving.operators import attributes, read_attribute, since_version
from benanza_schemas.operators.table import facts_of

MOST_COMPARED = 8
"""Elements of a constant that is equal to others by value: ONNX Runtime compares no larger ones
(constant_sharing.cc), and those of a file without its weights look equal, and aren't."""


def once(graph: Graph, opsets: dict[str, int]) -> Graph:
    """The graph with each costly node once; `left_out` says how many repeated ones it had."""
    before = len(graph.nodes)
    _Once(graph, opsets).apply()
    graph.nodes = without_dead(graph.nodes, graph.outputs, opsets)
    graph.left_out = before - len(graph.nodes)
    return graph


class _Once:
    """Lets each reader of a graph's repeated values read the first of them."""

    def __init__(self, graph: Graph, opsets: dict[str, int]) -> None:
        self._graph = graph
        self._opsets = opsets
        self._outputs = frozenset(graph.outputs)
        self._instead: dict[str, str] = {}
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

    def _first(self, node: Node) -> Node | None:
        """The node before this one that computes the same; None if there is none."""
        if node.domain or not facts_of(node.op_type).costly:
            return None
        alike = (node.op_type, self._values(node), len(node.outputs))
        other = self._alike.setdefault(alike, node)
        version = since_version(node.op_type, "", self._opsets.get(""))
        if other is node or version is None:
            return None
        try:
            self._equal.setdefault((alike, self._key(other, version)), other)
            first = self._equal.setdefault((alike, self._key(node, version)), node)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return None  # It isn't as ONNX defines it: its layer says so.
        return None if first is node else first

    def _values(self, node: Node) -> tuple[str, ...]:
        """What a node reads, but for constants, which may be equal and have two names."""
        constants = self._graph.constants
        return tuple(["" if name in constants else name for name in node.inputs])

    def _key(self, node: Node, version: int) -> Hashable:
        given = [
            read_attribute(attribute.SerializeToString()) for attribute in node.proto.attribute
        ]
        chosen = attributes(node.op_type, "", version, given, None)
        constants = self._graph.constants
        return chosen, tuple([known_value(constants, name) for name in node.inputs])


def known_value(constants: Constants, name: str) -> Hashable:
    """What a constant has in common with those of the same value: its name alone, unless it is
    small; "" for a value that isn't constant.
    """
    if name not in constants:
        return ""
    value = constants.value(name)
    if value is None or value.dtype == np.object_ or value.size > MOST_COMPARED:
        return name
    return value.dtype.name, value.shape, value.tobytes()
