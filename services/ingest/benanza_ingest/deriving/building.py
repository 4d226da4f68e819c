"""New values and nodes of a graph that is being derived."""

from typing import Any

from onnx import helper

from benanza_ingest.resolving.fold import Array
from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.types import TensorType


class Building:
    """Adds values to a graph, under names that it doesn't have yet."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def value(self, name: str, known: TensorType) -> str:
        """A value that some node will write. Returns its name."""
        name = self._unused(name)
        self._graph.types[name] = known
        return name

    def weight(self, name: str, known: TensorType) -> str:
        """A constant of which only the type is known."""
        name = self._unused(name)
        self._graph.constants.add_unknown(name, known)
        return name

    def number(self, name: str, array: Array) -> str:
        """A constant with its elements."""
        name = self._unused(name)
        self._graph.constants.add_array(name, array)
        return name

    def _unused(self, name: str) -> str:
        while name in self._graph.types or name in self._graph.constants:
            name += "'"
        return name


def new_node(
    op_type: str,
    name: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    *,
    domain: str = "",
    opset: int = 0,
    **attributes: Any,
) -> Node:
    """A node with this name for people; `opset` is the first that has it."""
    proto = helper.make_node(op_type, inputs, outputs, name, domain=domain, **attributes)
    return Node(proto, name, op_type, domain, inputs, outputs, opset=opset)
