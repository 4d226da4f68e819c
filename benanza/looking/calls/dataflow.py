"""Which calls of a bound read what others give."""

from collections.abc import Iterable, Sequence

import networkx

from benanza_analyzer.answers.calls import Call


def read_between(calls: Sequence[Call], edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What reads from what, as pairs of places in `calls`, each once: the source, then its reader.

    `edges` lead between positions of layers. What leads through layers that are in none of the
    calls, such as views, counts as one edge from the call before to the call behind.
    """
    of_layer = {position: place for place, call in enumerate(calls) for position in call.positions}
    layers = networkx.DiGraph(edges)
    for position in [layer for layer in layers if layer not in of_layer]:
        before, after = list(layers.predecessors(position)), list(layers.successors(position))
        layers.remove_node(position)
        layers.add_edges_from((source, target) for source in before for target in after)
    pairs = ((of_layer[source], of_layer[target]) for source, target in layers.edges)
    return sorted({(source, target) for source, target in pairs if source != target})
