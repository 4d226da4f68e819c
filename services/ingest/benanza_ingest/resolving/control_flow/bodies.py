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


def split_constants(body: GraphProto, prefix: str) -> tuple[GraphProto, GraphProto, dict[str, str]]:
    """The stored constants of a body, under names that start with `prefix`, the body without them,
    and their names by what they were called: each step of a loop reads the same ones.
    """
    weights = GraphProto(
        initializer=body.initializer,
        sparse_initializer=body.sparse_initializer,
        node=[node for node in body.node if _is_constant(node)],
    )
    rest = GraphProto(
        node=[node for node in body.node if not _is_constant(node)],
        input=body.input,
        output=body.output,
        value_info=body.value_info,
    )
    names = {name: prefix + name for name in _made(weights)}
    _rename(weights, names)
    return weights, rest, names


def with_own_names(body: GraphProto, prefix: str, given: Mapping[str, str]) -> GraphProto:
    """A copy of a body in which the names of its own values start with `prefix`.

    Bodies of different operators may use the same names inside. Values that a body reads from the
    graph around it keep their names, but those in `given`, such as its inputs, get the names there.
    """
    copy = GraphProto()
    copy.CopyFrom(body)
    _rename(copy, {name: prefix + name for name in _made(body)} | dict(given))
    return copy


def _is_constant(node: NodeProto) -> bool:
    return node.op_type == "Constant" and node.domain in ("", "ai.onnx")


def _made(body: GraphProto) -> list[str]:
    """The names of the values that a body makes."""
    names = [tensor.name for tensor in body.initializer]
    names += [sparse.values.name for sparse in body.sparse_initializer]
    return names + [name for node in body.node for name in node.output if name]


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
