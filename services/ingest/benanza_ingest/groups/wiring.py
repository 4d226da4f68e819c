"""Who writes and who reads each value of a graph: what the rules for groups look at."""

from dataclasses import dataclass

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.graph import Graph, Node


@dataclass(frozen=True, slots=True)
class Wiring:
    """A graph's layers with their nodes.

    `readers` holds for each value the positions of the layers that read it, as often as they
    do. A value that the model returns has a reader of its own, `OUTSIDE`.
    """

    graph: Graph
    layers: tuple[ExtractedLayer, ...]
    writer: dict[str, int]
    readers: dict[str, list[int]]

    def node(self, position: int) -> Node:
        """The node that a layer was made from."""
        return self.graph.nodes[position]

    def only_reader(self, position: int) -> int | None:
        """The one layer that reads what this one writes, once, if there is just one."""
        written = [name for name in self.node(position).outputs if name in self.readers]
        if len(written) != 1:
            return None
        readers = self.readers[written[0]]
        return readers[0] if len(readers) == 1 and readers[0] != OUTSIDE else None


OUTSIDE = -1


def wire(graph: Graph, layers: tuple[ExtractedLayer, ...]) -> Wiring:
    """Looks up writers and readers once for all rules."""
    writer: dict[str, int] = {}
    readers: dict[str, list[int]] = {}
    for position, node in enumerate(graph.nodes):
        for name in node.outputs:
            if name:
                writer[name] = position
        for name in node.reads():
            readers.setdefault(name, []).append(position)
    for name in graph.outputs:
        readers.setdefault(name, []).append(OUTSIDE)
    return Wiring(graph, layers, writer, readers)
