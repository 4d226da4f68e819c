"""The graph that ingest works on: live nodes in topological order, types, and constants."""

from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from onnx import GraphProto, NodeProto

from benanza_ingest.errors import ModelError
from benanza_ingest.fold import Constants
from benanza_ingest.parse import subgraphs
from benanza_ingest.types import Types


@dataclass(slots=True)
class Node:
    """An operator that does something when the model runs.

    `inputs` and `outputs` are names of values, an empty one where an optional one is left out;
    `captured` are those that the bodies of a control-flow operator read from outside.
    """

    proto: NodeProto
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    captured: tuple[str, ...] = ()

    def reads(self) -> Iterator[str]:
        """Every value that the node needs, as often as it reads it."""
        yield from (name for name in self.inputs if name)
        yield from self.captured


@dataclass(slots=True)
class Graph:
    """A model's graph, resolved as far as shapes and constants allow."""

    nodes: list[Node]
    types: Types
    constants: Constants
    outputs: list[str]


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


def in_topological_order(graph: GraphProto) -> list[NodeProto]:
    """The nodes of a graph, each after those that it reads from.

    ONNX wants a model to list them so, and most do. Raises `ModelError` for a cycle, for a
    value that two nodes write, and for one that nothing writes.
    """
    given = {value.name for value in graph.input}
    given.update(tensor.name for tensor in graph.initializer)
    given.update(tensor.values.name for tensor in graph.sparse_initializer)
    nodes = list(graph.node)
    reads = [[*node.input, *_captured(node)] for node in nodes]
    known, ordered = {"", *given}, True
    writer: dict[str, int] = {}
    for position, node in enumerate(nodes):
        if ordered and not known.issuperset(reads[position]):
            ordered = False
        for name in node.output:
            if name and (name in writer or name in given):
                raise ModelError(f"value {name!r} is written twice; export the model again")
            writer[name] = position
        known.update(node.output)
    for value in graph.output:
        if value.name not in known:
            raise ModelError(f"nothing writes the output {value.name!r}; export the model again")
    return nodes if ordered else _sorted(nodes, reads, writer, given)


def _captured(node: NodeProto) -> tuple[str, ...]:
    # Hardly any operator has a body, and looking for one in each takes time.
    return captured_names(node) if node.op_type in ("If", "Loop", "Scan") else ()


def _sorted(
    nodes: list[NodeProto], reads: list[list[str]], writer: dict[str, int], given: set[str]
) -> list[NodeProto]:
    before: dict[int, set[int]] = {}
    for position, node in enumerate(nodes):
        before[position] = set()
        for name in reads[position]:
            if name in writer and name:
                before[position].add(writer[name])
            elif name and name not in given:
                raise ModelError(
                    f"node {node.name or node.op_type!r} reads {name!r}, which nothing writes; "
                    "export the model again"
                )
    try:
        return [nodes[position] for position in TopologicalSorter(before).static_order()]
    except CycleError as error:
        names = " → ".join(nodes[p].name or nodes[p].op_type for p in error.args[1][:6])
        raise ModelError(f"the graph has a cycle: {names}; export the model again") from error


def without_dead(nodes: list[Node], outputs: list[str]) -> list[Node]:
    """The nodes that some output of the graph depends on."""
    needed = set(outputs)
    live = []
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.reads())
            live.append(node)
    live.reverse()
    return live
