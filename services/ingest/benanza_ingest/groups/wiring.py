"""The writers and the readers of a graph's values."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.resolving.graph import Graph, Node

OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class Wiring:
    """A graph with its layers, as the rules for groups read it.

    `readers` holds for each value the positions of the layers that read it, repeated if a layer
    reads it several times. A value that the model returns has the additional reader `OUTSIDE`.
    `writers` holds for each value the position of the layer that writes it. `edges` lead from the
    position of a layer to that of a reader, sorted, each pair once. `by_operator` holds for each
    operator of the standard domain the positions of its layers, without those that are skipped.
    """

    graph: Graph
    layers: tuple[ExtractedLayer, ...]
    readers: dict[str, list[int]]
    writers: dict[str, int]
    edges: tuple[tuple[int, int], ...]
    by_operator: dict[str, list[int]]

    def of(self, *operators: str) -> list[int]:
        """The positions of the layers with one of these operators of the standard domain, in order,
        without those that are skipped.
        """
        return sorted(
            [position for operator in operators for position in self.by_operator.get(operator, ())]
        )

    def node(self, position: int) -> Node:
        """The node of the layer at a position."""
        return self.graph.nodes[position]

    def only_reader(self, position: int) -> int | None:
        """The layer that reads the results of this one, if there is only one, and it reads once."""
        readers = [r for name in self.node(position).outputs for r in self.readers.get(name, ())]
        return readers[0] if len(readers) == 1 and readers[0] != OUTSIDE else None

    def results(self, positions: Sequence[int]) -> list[str]:
        """The values that these layers write and that others read, or the model returns."""
        members = set(positions)
        return [
            name
            for position in positions
            for name in self.graph.nodes[position].outputs
            if name and not members.issuperset(self.readers[name])
        ]


def without_empty(wiring: Wiring) -> Wiring:
    """The same, as if the layers that read or write values without elements had been skipped: they
    are in no group.
    """
    layers = tuple([_skipped(layer) if _is_empty(layer) else layer for layer in wiring.layers])
    return wiring if layers == wiring.layers else wire(wiring.graph, layers)


def _is_empty(layer: ExtractedLayer) -> bool:
    tensors = layer.layer.tensors if layer.layer is not None else ()
    # A value without elements says that something is left out, such as the region of a Resize.
    return any(0 in tensor.shape for tensor in tensors if tensor.value is None)


def _skipped(layer: ExtractedLayer) -> ExtractedLayer:
    return replace(layer, kind="skipped", layer=None, fingerprint="")


def wire(graph: Graph, layers: tuple[ExtractedLayer, ...]) -> Wiring:
    """Finds the writers and readers of all values, for the layers of a graph's nodes."""
    writers: dict[str, int] = {}
    readers: dict[str, list[int]] = {}
    edges: set[tuple[int, int]] = set()
    for position, node in enumerate(graph.nodes):
        for name in (*node.inputs, *node.captured):
            if name in writers:
                readers[name].append(position)
                edges.add((writers[name], position))
        for name in node.outputs:
            if name:
                writers[name] = position
                readers[name] = []
    for name in graph.outputs:
        readers.setdefault(name, []).append(OUTSIDE)
    by_operator: dict[str, list[int]] = {}
    for position, layer in enumerate(layers):
        if layer.kind != "skipped" and not layer.domain:
            by_operator.setdefault(layer.op, []).append(position)
    return Wiring(graph, layers, readers, writers, tuple(sorted(edges)), by_operator)
