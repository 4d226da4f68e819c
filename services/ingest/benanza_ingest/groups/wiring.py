"""Who writes and who reads each value of a graph."""

from dataclasses import dataclass

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.graph import Graph, Node

OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class Wiring:
    """A graph's layers with their nodes: what the rules for groups look at.

    `readers` holds for each value the positions of the layers that read it, as often as they
    do. A value that the model returns has a reader of its own, `OUTSIDE`. `edges` go from the
    position of a layer to that of one that reads from it, each pair once, sorted.
    """

    graph: Graph
    layers: tuple[ExtractedLayer, ...]
    readers: dict[str, list[int]]
    edges: tuple[tuple[int, int], ...]

    def node(self, position: int) -> Node:
        """The node that a layer was made from."""
        return self.graph.nodes[position]

    def only_reader(self, position: int) -> int | None:
        """The one layer that reads what this one writes, once, if there is just one."""
        readers = [r for name in self.node(position).outputs for r in self.readers.get(name, ())]
        return readers[0] if len(readers) == 1 and readers[0] != OUTSIDE else None


def wire(graph: Graph, layers: tuple[ExtractedLayer, ...]) -> Wiring:
    """Looks up writers and readers once for all who ask."""
    writer: dict[str, int] = {}
    readers: dict[str, list[int]] = {}
    edges: set[tuple[int, int]] = set()
    for position, node in enumerate(graph.nodes):
        for name in (*node.inputs, *node.captured):
            if name in writer:
                readers[name].append(position)
                edges.add((writer[name], position))
        for name in node.outputs:
            if name:
                writer[name] = position
                readers[name] = []
    for name in graph.outputs:
        readers.setdefault(name, []).append(OUTSIDE)
    return Wiring(graph, layers, readers, tuple(sorted(edges)))
