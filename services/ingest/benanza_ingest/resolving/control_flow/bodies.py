"""Prepares the body of a control-flow operator for the graph around it."""

from collections.abc import Mapping
from hashlib import blake2b

from onnx import GraphProto, NodeProto

from benanza_ingest.reading.parse import subgraphs

_LONG = 512
"""A prefix with more characters is cut off."""


def body_of(node: NodeProto, attribute: str) -> GraphProto:
    """The body of a node in this attribute; an empty one if it has none there."""
    return next((a.g for a in node.attribute if a.name == attribute), GraphProto())


def prefix_of(node: NodeProto) -> str:
    """What the names start with that the bodies of a node bring."""
    prefix = f"{next(filter(None, node.output), '')}/"
    if len(prefix) > _LONG:
        # Else names of bodies within bodies would grow with each.
        prefix = f"{prefix[:_LONG]}…{blake2b(prefix.encode(), digest_size=8).hexdigest()}/"
    return prefix


def hidden_nodes(node: NodeProto) -> int:
    """The nodes in the bodies of a node, each as often as it is written."""
    return sum(nodes_in(body) for body in subgraphs(node))


def nodes_in(body: GraphProto) -> int:
    """The nodes of a body and of the bodies in it."""
    return len(body.node) + sum(map(hidden_nodes, body.node))


def apart(body: GraphProto, prefix: str) -> tuple[GraphProto, GraphProto, dict[str, str]]:
    """The weights of a body, under names that start with `prefix`, the body without them, and the
    weights' names by what they were called: each step of a loop reads the same ones.
    """
    weights, rest = GraphProto(), GraphProto()
    rest.CopyFrom(body)
    weights.initializer.extend(rest.initializer)
    weights.sparse_initializer.extend(rest.sparse_initializer)
    del rest.initializer[:], rest.sparse_initializer[:]
    names = {name: prefix + name for name in _weights(weights)}
    _rename(weights, names)
    return weights, rest, names


def with_own_names(body: GraphProto, prefix: str, given: Mapping[str, str]) -> GraphProto:
    """A copy of a body in which the names of its own values start with `prefix`.

    Bodies of different operators may use the same names inside. Values that a body reads from the
    graph around it keep their names, but those in `given`, such as its inputs, get the names there.
    """
    made = _weights(body)
    made += [name for node in body.node for name in node.output if name]
    copy = GraphProto()
    copy.CopyFrom(body)
    _rename(copy, {name: prefix + name for name in made} | dict(given))
    return copy


def _weights(body: GraphProto) -> list[str]:
    names = [tensor.name for tensor in body.initializer]
    return names + [sparse.values.name for sparse in body.sparse_initializer]


def _rename(graph: GraphProto, names: Mapping[str, str]) -> None:
    for tensor in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
        tensor.name = names.get(tensor.name, tensor.name)
    for value in (*graph.value_info, *graph.output):
        value.name = names.get(value.name, value.name)
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for inner in subgraphs(node):
            own = {value.name for value in inner.input}
            _rename(inner, {n: new for n, new in names.items() if n not in own} if own else names)
