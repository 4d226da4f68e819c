"""Upper bounds of the numbers of axes, found before onnx's compiled shape inference runs.

That writes every axis of every value. A model of a hundred bytes can ask it for gigabytes: an
Expand to a shape vector of 2^31 entries, or Gathers each of which doubles the axes.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod

from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto

from benanza_ingest.errors import ModelError
from benanza_ingest.reading.parse import MAX_AXES, subgraphs
from benanza_ingest.resolving.graph import CONTROL_FLOW, Node, inner_node
from benanza_ingest.resolving.inferring.axes import FEW_AXES, GROWING, AxesBound, axes_of, ints

_ELEMENTWISE = frozenset("Identity Cast Add Sub Mul Div Mod Max Min Neg Abs Equal Where".split())
_PARTS = frozenset(("Slice", "Squeeze", "Unsqueeze"))

_VECTORS = _ELEMENTWISE | _PARTS | frozenset(("Constant", "Shape", "Concat", "Gather"))
_FOLLOWED = GROWING | _VECTORS | CONTROL_FLOW

_NONE = AxesBound(0)


@contextmanager
def without_outgrown(
    graph: GraphProto, nodes: Sequence[Node], functions: Iterable[FunctionProto] = ()
) -> Iterator[None]:
    """Hides the nodes whose results may have too many axes, for the length of a `with` block.

    `nodes` are those of the graph, in topological order. What is hidden is inferred node by node
    later, when more is known. In `functions`, which are those that can't be inlined, all nodes that
    may add axes are hidden. Raises `ModelError` if the graph declares a value with too many axes.
    """
    hidden: list[tuple[NodeProto, str]] = []
    try:
        _Ranks(hidden).hide(graph, nodes)
        for function in functions:
            _hide_growing(function.node, hidden)
        yield
    finally:
        for node, op_type in hidden:
            node.op_type = op_type


def _hide_growing(protos: Iterable[NodeProto], hidden: list[tuple[NodeProto, str]]) -> None:
    for proto in protos:
        for body in subgraphs(proto):
            _hide_growing(body.node, hidden)
        if proto.op_type in GROWING:
            hidden.append((proto, proto.op_type))
            proto.op_type = ""


class _Ranks:
    """The bounds of the values of a graph and of those around it.

    Those of vectors of which shapes are made are followed more closely. What a model declares of a
    value holds beside what follows from its node.
    """

    def __init__(self, hidden: list[tuple[NodeProto, str]]) -> None:
        self._hidden = hidden
        self._axes: dict[str, int] = {}
        self._vectors: dict[str, AxesBound] = {}
        self._declared: dict[bytes, int] = {}

    def hide(self, graph: GraphProto, nodes: Sequence[Node], given: int = 0) -> int:
        """Hides what has outgrown in a graph and in its bodies.

        `given` is the most axes of what a body's inputs get. Returns the most of the outputs'.
        """
        axes = self._axes
        for value in (*graph.input, *graph.output, *graph.value_info):
            self._add_declared(value)
        for value in graph.input:
            axes[value.name] = max(axes[value.name], given)
            dims = value.type.tensor_type.shape.dim
            if len(dims) == 1 and dims[0].dim_value > 0 and not given:
                self._add(value.name, 1, dims[0].dim_value)
        for tensor in graph.initializer:
            self._add_tensor(tensor.name, tensor)
        for node in nodes:
            op_type = node.op_type
            most = FEW_AXES
            for name in node.inputs:
                if axes.get(name, 0) > most:
                    most = axes[name]
            if op_type in _FOLLOWED:
                if op_type == "ConstantOfShape" and self._vectors.keys() >= {*node.inputs}:
                    # Weights are generated so.
                    lengths = [self._vectors[name].elements or 0 for name in node.inputs]
                    most = max([FEW_AXES, *lengths])
                elif op_type in GROWING or op_type in CONTROL_FLOW:
                    most = self._grown(node)
                if most > MAX_AXES:
                    self._hidden.append((node.proto, op_type))
                    node.proto.op_type = ""
                    continue
                if op_type in _VECTORS:
                    self._follow_vector(node)
            for name in node.outputs:
                if axes.get(name, 0) < most:
                    axes[name] = most
        return max((axes.get(value.name, 0) for value in graph.output), default=0)

    def _grown(self, node: Node) -> int:
        inputs = [self._bound(name) for name in node.inputs]
        most = axes_of(node.proto, inputs)
        given = max((bound.axes for bound in inputs), default=0)
        for body in subgraphs(node.proto):
            inner = [inner_node(proto) for proto in body.node]
            most = max(most, 1 + self.hide(body, inner, given))
        return most

    def _add_declared(self, value: ValueInfoProto) -> None:
        encoded = value.type.SerializeToString()
        axes = self._declared.get(encoded)
        if axes is None:  # A model has few types.
            axes = self._declared[encoded] = len(value.type.tensor_type.shape.dim)
            _check(value.name, axes)
        self._axes[value.name] = max(axes, self._axes.get(value.name, 0))

    def _bound(self, name: str) -> AxesBound:
        return AxesBound(self._axes.get(name, 0), self._vectors.get(name, _NONE).elements)

    def _follow_vector(self, node: Node) -> None:
        """Notes the axes and the number of elements of what may be a shape, or a part of one."""
        op_type, proto = node.op_type, node.proto
        output = node.outputs[0] if node.outputs else ""
        known = [self._vectors.get(name) for name in node.inputs if name]
        if op_type == "Constant":
            for attribute in proto.attribute:
                if attribute.HasField("t"):
                    self._add_tensor(output, attribute.t)
                else:
                    self._add(output, 1, len(attribute.ints) + len(attribute.floats) or 1)
        elif op_type == "Shape":
            self._add(output, 1, self._axes.get(node.inputs[0], 0) if node.inputs else 0)
        elif known and all(known):
            axes = [bound.axes for bound in known if bound]
            elements = [bound.elements or 0 for bound in known if bound]
            match op_type:
                case "Concat":
                    self._add(output, max(axes), sum(elements))
                case "Gather" if len(axes) == 2:
                    data = 1 if axes[0] <= 1 else elements[0]
                    self._add(output, max(0, sum(axes) - 1), data * elements[1])
                case "Unsqueeze":
                    more = elements[1] if len(elements) > 1 else ints(proto, "axes") or 0
                    self._add(output, axes[0] + more, elements[0])
                case "Slice" | "Squeeze":
                    self._add(output, axes[0], elements[0])
                case _:
                    alike = max(axes) <= 1
                    self._add(output, max(axes), max(elements) if alike else prod(elements))

    def _add_tensor(self, name: str, tensor: TensorProto) -> None:
        dims = tensor.dims[:]
        axes = len(dims)
        _check(name, axes)
        if axes > self._axes.get(name, 0):
            self._axes[name] = axes
        if axes <= 1:  # Shapes aren't made of others.
            self._add(name, axes, dims[0] if dims else 1)

    def _add(self, name: str, axes: int, elements: int) -> None:
        # A body may give a value the name of another one around it.
        before = self._vectors.get(name)
        if before is not None:
            axes, elements = max(axes, before.axes), max(elements, before.elements or 0)
        self._vectors[name] = AxesBound(axes, elements)


def _check(name: str, axes: int) -> None:
    if axes > MAX_AXES:
        raise ModelError(f"tensor {name!r} has {axes:,} axes; export the model again")
