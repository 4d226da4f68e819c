"""The fusible layers of a model, and which sets of them one kernel can run."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import factorial, prod

from benanza_ingest.groups.regions.fusible import GATHERING, Fusible, Role, fusible
from benanza_ingest.groups.regions.rows import Rows
from benanza_ingest.groups.wiring import Wiring

MOST_LAYERS = 64
MOST_RESULTS = 8
MOST_INPUTS = 24
MOST_ORDERS = 24
"""Identity tries all orders of results that look the same."""

_OF_FEATURE_MAPS = frozenset(("AveragePool", "Conv", "ConvTranspose", "MaxPool"))


class FusibleGraph:
    """The fusible layers of a model by position; which are views, move at most, are windows, or
    reduce a few elements.

    `feature_maps` are the shapes of what convolutions and poolings read and write.
    `before` holds for each layer the fusible layers whose results it reads, ascending. `rows` holds
    the rows of values that depend on a reduction in their region. Without `products`, none is
    fusible.
    """

    def __init__(self, wiring: Wiring, *, products: bool = True) -> None:
        self.wiring = wiring
        known: dict[str, Fusible | None] = {"": None}
        self.layers: dict[int, Fusible] = {}
        of_role: dict[Role, set[int]] = {role: set() for role in Role}
        for position, layer in enumerate(wiring.layers):
            if layer.fingerprint not in known:
                known[layer.fingerprint] = fusible(layer)
            candidate = known[layer.fingerprint]
            if candidate is None:
                continue
            if candidate.operator.op_type != "MatMul" or (
                products and self._is_computed_at(position)
            ):
                self.layers[position] = candidate
                of_role[candidate.role].add(position)
        self.views = of_role[Role.VIEW]
        self.moving = self.views | of_role[Role.MOVEMENT]
        self.windows = of_role[Role.WINDOW]
        self.short = of_role[Role.SHORT_REDUCTION]
        self.before: list[list[int]] = [[] for _ in wiring.layers]
        for source, target in wiring.edges:
            if source in self.layers:
                self.before[target].append(source)
        self.rows: dict[str, Rows] = {}
        self.feature_maps = _feature_maps(wiring)

    def has_products(self) -> bool:
        """Whether one is fusible."""
        return any(each.operator.op_type == "MatMul" for each in self.layers.values())

    def _is_computed_at(self, position: int) -> bool:
        """Whether an element-wise operator before a product computes its matrices: what only reads
        them is as fast as a library.
        """
        name = self.wiring.graph.nodes[position].inputs[0]
        while (writer := self.wiring.writers.get(name)) in self.layers:
            assert writer is not None, "a layer has a position"
            if self.layers[writer].role is not Role.VIEW:
                return self.layers[writer].role is Role.ELEMENTWISE
            name = self.wiring.graph.nodes[writer].inputs[0]
        return False

    def weight(self, positions: Collection[int]) -> int:
        """The number of layers that aren't views."""
        return len(positions) - len(self.views.intersection(positions))

    def indices(self, position: int) -> list[int]:
        """The layer that computes the indices of a Gather, if one does."""
        if self.layers[position].operator.op_type not in GATHERING:
            return []
        name = self.wiring.graph.nodes[position].inputs[1]
        return [self.wiring.writers[name]] if name in self.wiring.writers else []

    def reads(self, positions: Collection[int]) -> set[str]:
        """The values that these layers read from outside, without those that decide shapes."""
        nodes, layers = self.wiring.graph.nodes, self.layers
        values = {
            nodes[position].inputs[slot] for position in positions for slot in layers[position].data
        }
        return values.difference(*[nodes[position].outputs for position in positions])

    def ill_placed(self, positions: Sequence[int], results: Iterable[str]) -> list[int]:
        """The layers whose results don't fit the rows of the reductions among these layers.

        A kernel goes from row to row, so each result has an element for each of the rows'.
        """
        misplaced = []
        shapes = self._reductions(positions)
        for name in results if shapes else ():
            position, slot = self._writer(name)
            size = prod(self.layers[position].shapes[slot])
            if name not in self.rows and any(size != prod(shape) for shape in shapes):
                misplaced.append(position)
        return misplaced

    def is_runnable(self, positions: Sequence[int]) -> bool:
        """Whether one kernel can run these layers, which are convex."""
        results = self.wiring.results(positions)
        if len(positions) > MOST_LAYERS or len(results) > MOST_RESULTS:
            return False
        if factorial(len(results)) > MOST_ORDERS and self._orders(results) > MOST_ORDERS:
            return False
        reductions = self._reductions(positions)
        if len(reductions) > 1 or (reductions and self.ill_placed(positions, results)):
            return False
        most = sum([len(self.layers[position].data) for position in positions])
        return most <= MOST_INPUTS or len(self.reads(positions)) <= MOST_INPUTS

    def _reductions(self, positions: Iterable[int]) -> set[tuple[int, int]]:
        """The number of rows and their length, of each kind of reduction among these layers."""
        reductions = {self.layers[position].reduction for position in positions}
        return {shape for shape in reductions if shape is not None}

    def _orders(self, results: Iterable[str]) -> int:
        """At least the number of orders of results that may look the same."""
        looks: Counter[tuple[str, int]] = Counter()
        for name in results:
            position, slot = self._writer(name)
            looks[self.wiring.layers[position].fingerprint, slot] += 1
        return prod(map(factorial, looks.values()))

    def _writer(self, name: str) -> tuple[int, int]:
        """The layer that writes a value, and which of its results it is."""
        position = self.wiring.writers[name]
        return position, self.wiring.graph.nodes[position].outputs.index(name)


def _feature_maps(wiring: Wiring) -> frozenset[tuple[int, ...]]:
    shapes = set()
    for layer in wiring.layers:
        if layer.op in _OF_FEATURE_MAPS and not layer.domain and layer.layer is not None:
            operator = layer.layer.operators[0]
            places = operator.inputs[0], operator.outputs[0]
            shapes.update([layer.layer.tensors[index].shape for index in places])
    return frozenset([shape for shape in shapes if prod(shape[2:]) > 1])
