"""Simplifies a graph as a whole."""

from benanza_ingest.resolving.graph import Graph, without_dead
from benanza_ingest.resolving.simplifying.once import Once
from benanza_ingest.resolving.simplifying.transposes import cancel

MOST_ROUNDS = 8
"""What is left out may let more be left out. Exporters write no longer chains of these."""


def simplify(graph: Graph, opsets: dict[str, int]) -> Graph:
    """The graph without nodes that it doesn't need; `left_out` says how many these are."""
    before = len(graph.nodes)
    for _ in range(MOST_ROUNDS):
        Once(graph, opsets).apply()
        changed = cancel(graph, opsets.get("", 0))
        graph.nodes = without_dead(graph.nodes, graph.outputs, opsets)
        if not changed:
            break
    graph.left_out = before - len(graph.nodes)
    return graph
