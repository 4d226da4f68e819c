"""The nodes that one node is written out as."""

from typing import Any

from onnx import helper

from benanza_ingest.deriving.building import Building, new_node
from benanza_ingest.resolving.fold import Array
from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.types import TensorType, tensor_type

Shape = tuple[int, ...]


class WritingOut:
    """Collects `nodes` that compute what a node does; they have its name for people.

    The types of what it reads and writes have to be known.
    """

    def __init__(self, graph: Graph, node: Node) -> None:
        self.nodes: list[Node] = []
        self._graph = graph
        self._node = node
        self._building = Building(graph)

    def shape(self, name: str) -> Shape:
        """The shape of a value."""
        return self._type(name).dims()

    def dtype(self, name: str) -> str:
        """The element type of a value."""
        return self._type(name).dtype

    def is_constant(self, name: str) -> bool:
        """Whether the model fixes a value."""
        return name in self._graph.constants

    def add(
        self,
        op_type: str,
        inputs: tuple[str, ...],
        shape: Shape,
        dtype: str,
        *,
        result: str = "",
        opset: int = 0,
        **attributes: Any,
    ) -> str:
        """A node with one result, a new one unless it is named. Returns the name of the result."""
        name = result or self.value(f"{self._node.title()}/{op_type}", shape, dtype)
        self.put(op_type, inputs, (name,), opset=opset, **attributes)
        return name

    def put(
        self,
        op_type: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        *,
        domain: str = "",
        opset: int = 0,
        **attributes: Any,
    ) -> None:
        """A node with these results. `opset` is the first that has it, if the model's may not."""
        title = self._node.title()
        made = new_node(op_type, title, inputs, outputs, domain=domain, opset=opset, **attributes)
        self.nodes.append(made)
        self.nodes[-1].part_of = self._node.first_output()

    def value(self, name: str, shape: Shape, dtype: str) -> str:
        """A value that some node will write. Returns its name, which may be a longer one."""
        return self._building.value(name, tensor_type(dtype, shape))

    def weight(self, shape: Shape, dtype: str) -> str:
        """A constant of which only the type is known."""
        return self._building.weight(f"{self._node.title()}/weight", tensor_type(dtype, shape))

    def number(self, array: Array) -> str:
        """A constant with these elements."""
        return self._building.number(f"{self._node.title()}/constant", array)

    def _type(self, name: str) -> TensorType:
        known = self._graph.constants.type_of(name)
        assert known is not None, "what is written out has types"
        return known


def attributes(node: Node) -> dict[str, Any]:
    """The attributes that a node is given, by name."""
    return {a.name: helper.get_attribute_value(a) for a in node.proto.attribute}
