"""The graph of a model in ingest: live nodes in topological order, types, and constants."""

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import msgspec
from onnx import GraphProto, NodeProto

from benanza_ingest.errors import ModelError
from benanza_ingest.reading.parse import check_value_names, subgraphs
from benanza_ingest.resolving.declared import Outdated
from benanza_ingest.resolving.fold import Constants
from benanza_ingest.resolving.operators import optional_outputs
from benanza_ingest.resolving.types import Types
from benanza_schemas.operators.table import named

if TYPE_CHECKING:  # it works on the nodes that are defined here
    from benanza_ingest.resolving.causes import Causes

CONTROL_FLOW = named(lambda facts: facts.kind == "control flow")


class Node(msgspec.Struct):
    """An operator that runs when the model runs.

    `inputs` and `outputs` are names of values; a name is empty if an optional value is left out, or
    if nothing reads it. `captured` are the values that the bodies of a control-flow operator read
    from outside. `domain` is empty for the standard domain. `in_place` says that results lie where
    the inputs do, so that nothing moves; `appends` that an Identity writes its input into a buffer.
    `opset` is the first one that has what the operator is told, if the model's may be older, and
    `deciding` are inputs that decide what it does, besides those that always do. `part_of` is the
    first output of the model's node that this one is written out from, with others.
    """

    proto: NodeProto
    name: str
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    captured: tuple[str, ...] = ()
    in_place: bool = False
    appends: bool = False
    opset: int = 0
    deciding: tuple[int, ...] = ()
    part_of: str = ""

    def title(self) -> str:
        """The node's name for people; if it has none, that of its first output, or its type."""
        return self.name or self.first_output() or self.op_type

    def first_output(self) -> str:
        """The name of the first output that isn't left out; empty if there is none."""
        return next(filter(None, self.outputs), "")


@dataclass(slots=True)
class Graph:
    """A model's graph with the types and constants that are known, and the causes of what isn't.

    `outputs` are the names of the model's outputs, `outdated` the values that are declared with
    other sizes than they have. `left_out` is the number of nodes that repeat others.
    """

    nodes: list[Node]
    types: Types
    constants: Constants
    causes: "Causes"
    outputs: list[str]
    outdated: tuple[Outdated, ...] = ()
    left_out: int = 0


def make_node(proto: NodeProto) -> Node:
    """The node of this proto, with the names as the model has them."""
    node = inner_node(proto)
    if node.op_type in CONTROL_FLOW:
        node.captured = captured_names(proto)
    return node


def inner_node(proto: NodeProto) -> Node:
    """The node of this proto in a body, without what it captures: for bodies within bodies that
    would be looked for again and again.
    """
    domain = proto.domain
    return Node(
        proto,
        proto.name,
        proto.op_type,
        "" if domain == "ai.onnx" else domain,
        tuple(proto.input[:]),  # a slice is copied at once, not name by name
        tuple(proto.output[:]),
    )


def captured_names(node: NodeProto) -> tuple[str, ...]:
    """The values that the bodies of a control-flow operator read from the graph around it."""
    names: dict[str, None] = {}
    pending = [(body, frozenset[str]()) for body in subgraphs(node)]
    while pending:
        body, outer = pending.pop()
        own = outer.union(
            (value.name for value in body.input),
            (tensor.name for tensor in body.initializer),
            (name for inner in body.node for name in inner.output),
        )
        for inner in body.node:
            names.update((name, None) for name in inner.input if name and name not in own)
            pending.extend((deeper, own) for deeper in subgraphs(inner))
        names.update((value.name, None) for value in body.output if value.name not in own)
    return tuple(names)


def in_topological_order(graph: GraphProto) -> list[Node]:
    """The nodes of a graph in topological order. The graph's own list is sorted as well.

    ONNX requires this order, and most models have it. Raises `ModelError` for a cycle, for a value
    that is written twice, and for a value that is read but never written.
    """
    given = {value.name for value in graph.input}
    given.update(tensor.name for tensor in graph.initializer)
    given.update(tensor.values.name for tensor in graph.sparse_initializer)
    nodes = [make_node(proto) for proto in graph.node]
    known, ordered = {"", *given}, True
    for node in nodes:
        inputs, outputs, captured = node.inputs, node.outputs, node.captured
        if not known.issuperset(inputs) or (captured and not known.issuperset(captured)):
            ordered = False
        if not known.isdisjoint(outputs) or (len(outputs) > 1 and len(set(outputs)) < len(outputs)):
            _check_written_once(node, known)
        known.update(outputs)
    check_value_names(known)
    for value in graph.output:
        if value.name not in known:
            raise ModelError(f"nothing writes the output {value.name!r}; export the model again")
    if not ordered:
        nodes = _sorted(nodes, given)
        del graph.node[:]
        graph.node.extend([node.proto for node in nodes])
        for node, proto in zip(nodes, graph.node, strict=True):
            node.proto = proto  # The graph has copies now; what is changed is to be changed there.
    return nodes


def _check_written_once(node: Node, known: set[str]) -> None:
    for position, name in enumerate(node.outputs):
        if name and (name in known or name in node.outputs[:position]):
            raise ModelError(f"value {name!r} is written twice; export the model again")


def _sorted(nodes: list[Node], given: set[str]) -> list[Node]:
    writer = {name: i for i, node in enumerate(nodes) for name in node.outputs if name}
    before: dict[int, set[int]] = {}
    for position, node in enumerate(nodes):
        before[position] = set()
        for name in (*node.inputs, *node.captured):
            if name in writer:
                before[position].add(writer[name])
            elif name and name not in given:
                raise ModelError(
                    f"node {node.title()!r} reads {name!r}, which nothing "
                    "writes; export the model again"
                )
    try:
        return [nodes[position] for position in TopologicalSorter(before).static_order()]
    except CycleError as error:
        cycle = [nodes[position] for position in error.args[1][:6]]
        names = " → ".join(node.title() for node in cycle)
        raise ModelError(f"the graph has a cycle: {names}; export the model again") from error


def without_dead(nodes: list[Node], outputs: list[str], opsets: dict[str, int]) -> list[Node]:
    """The nodes on which an output of the graph depends.

    Optional outputs of these nodes that nothing reads get an empty name.
    """
    needed = set(outputs)
    live = []
    for node in reversed(nodes):
        needed.discard("")
        if needed.isdisjoint(node.outputs):
            continue
        if len(node.outputs) > 1:
            optional = optional_outputs(node.op_type, node.domain, opsets.get(node.domain))
            node.outputs = tuple(
                "" if position in optional and name not in needed else name
                for position, name in enumerate(node.outputs)
            )
        needed.update(node.inputs)
        needed.update(node.captured)
        live.append(node)
    live.reverse()
    return live
