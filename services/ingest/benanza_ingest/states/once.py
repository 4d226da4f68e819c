"""Changes a state once: a model may write out the same change twice, and return both results."""

from collections import Counter
from collections.abc import Hashable

from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.states.find import WRITING, find_states


def change_states_once(graph: Graph) -> None:
    """Leaves out each node that changes a state as another one before it does.

    What read its result, or returned it, takes that of the first one. Equal operators with equal
    inputs have equal results.
    """
    alike = Counter(_key(node) for node in graph.nodes if _may_write(node))
    if max(alike.values(), default=0) < 2:
        return
    of_states = {
        _key(node)
        for node, (kept, _) in zip(graph.nodes, find_states(graph), strict=True)
        if kept and _may_write(node)
    }
    firsts: dict[Hashable, Node] = {}
    instead: dict[str, str] = {}
    nodes = []
    for node in graph.nodes:
        key = _key(node) if _may_write(node) else None
        first = firsts.setdefault(key, node) if key in of_states else node
        if first is node:
            node.inputs = tuple([instead.get(name, name) for name in node.inputs])
            node.captured = tuple([instead.get(name, name) for name in node.captured])
            nodes.append(node)
        else:
            instead[node.outputs[0]] = first.outputs[0]
    graph.left_out += len(graph.nodes) - len(nodes)
    graph.nodes = nodes
    graph.outputs = list(dict.fromkeys(instead.get(name, name) for name in graph.outputs))


def _may_write(node: Node) -> bool:
    return not node.domain and node.op_type in WRITING


def _key(node: Node) -> Hashable:
    """What equal nodes have in common."""
    given = sorted(attribute.SerializeToString() for attribute in node.proto.attribute)
    return node.op_type, node.inputs, tuple(given)
