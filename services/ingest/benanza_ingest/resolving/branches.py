"""Prepares the branch of an If for the graph around it."""

from collections.abc import Mapping
from hashlib import blake2b

from onnx import GraphProto

from benanza_ingest.reading.parse import subgraphs

_LONG = 512
"""A prefix with more characters is cut off."""


def with_own_names(body: GraphProto, prefix: str) -> GraphProto:
    """A copy of a branch in which the names of its own values start with `prefix`.

    Branches of different Ifs may use the same names inside. Values that a branch reads from the
    graph around it keep their names.
    """
    made = [tensor.name for tensor in body.initializer]
    made += [sparse.values.name for sparse in body.sparse_initializer]
    made += [name for node in body.node for name in node.output if name]
    if len(prefix) > _LONG:
        # Else names of branches within branches would grow with each.
        prefix = f"{prefix[:_LONG]}…{blake2b(prefix.encode(), digest_size=8).hexdigest()}/"
    copy = GraphProto()
    copy.CopyFrom(body)
    _rename(copy, {name: prefix + name for name in made})
    return copy


def _rename(graph: GraphProto, names: Mapping[str, str]) -> None:
    for tensor in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
        tensor.name = names.get(tensor.name, tensor.name)
    for value in (*graph.value_info, *graph.output):
        value.name = names.get(value.name, value.name)
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for inner in subgraphs(node):
            _rename(inner, names)
