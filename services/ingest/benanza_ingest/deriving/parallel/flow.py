"""Finds which products of a graph can be split, by how their results flow through it.

Each product with constant weights of a value that is whole is split by columns at first. What reads
its parts works on them, until a product with constant weights sums them up: that is split by rows.
Where something between can't work on parts, all products on which these depend stay whole, and the
search is made again without them.
"""

from collections.abc import Iterable
from typing import NamedTuple

from benanza_ingest.deriving.parallel.along import (
    Along,
    CannotKeepError,
    FinerError,
    Segments,
    starts_of,
)
from benanza_ingest.deriving.parallel.products import by_columns, by_rows, may_be_product
from benanza_ingest.deriving.parallel.reading import KeptSplit, Reading
from benanza_ingest.deriving.parallel.rules import rule_of
from benanza_ingest.resolving.graph import Graph, Node

_FIXED_IF_INPUTS_ARE = frozenset(("Cast", "DequantizeLinear", "Identity", "Transpose"))
"""Operators on constants that stay in the graph, where the first is one that does."""

_VIEWS = {"Cast", "Identity", "Transpose"}


class SplitStep(NamedTuple):
    """A node of which each rank computes a part: as `kept` says.

    `role` is empty for what works on parts, else `columns`, `rows`, or `gathered` for columns whose
    results are put together at once. `bias` is the place of a bias that is added to the sum of all
    ranks; 0 if there is none.
    """

    kept: KeptSplit
    role: str = ""
    bias: int = 0


class Flow(NamedTuple):
    """How a graph is split: steps by first output, splits of values, and of the model's inputs.

    `whole` says why products with weights stay whole, by their first output.
    """

    steps: dict[str, SplitStep]
    states: dict[str, Along]
    whole: dict[str, str]


class Fixed:
    """Values that follow from constants alone: where they are read, they can be split anyhow."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.writers = {name: node for node in graph.nodes for name in node.outputs if name}
        self._names: set[str] = set()
        for node in graph.nodes:
            if node.op_type in _FIXED_IF_INPUTS_ARE and all(map(self.__contains__, node.inputs)):
                self._names.update(filter(None, node.outputs))

    def __contains__(self, name: str) -> bool:
        return not name or name in self._graph.constants or name in self._names


def find_flow(graph: Graph, ranks: int, opset: int) -> Flow:
    """How the graph can be split over so many ranks. Nothing may be."""
    search = _Search(graph, ranks, opset)
    while not search.settled():
        pass
    return search.flow


class _Search:
    def __init__(self, graph: Graph, ranks: int, opset: int) -> None:
        self._graph, self._ranks, self._opset = graph, ranks, opset
        self._fixed = Fixed(graph)
        self._heads = _heads(graph, self._fixed)
        self._given: dict[str, Along] = {}
        self._starts: dict[str, tuple[int, ...]] = {}
        self._why_divided: dict[str, str] = {}
        self._open: set[str] = set()
        self._refused: dict[str, str] = {}
        self._changed = True
        self.flow = Flow({}, {}, self._refused)

    def settled(self) -> bool:
        """Goes through the graph once; whether nothing was found that changes the splits before."""
        self._changed = False
        self._open.clear()
        self.flow = Flow({}, dict(self._given), self._refused)
        for node in self._graph.nodes:
            self._visit(node)
        for name in self._graph.outputs:
            state, known = self.flow.states.get(name), self._graph.types.get(name)
            last = len(known.dims()) - 1 if known is not None and known.resolved else None
            if state is not None and state.axis == last:
                self._refuse(state.products, "the model returns its result")
        return not self._changed

    def _visit(self, node: Node) -> None:
        states = [self.flow.states.get(name) for name in node.inputs]
        product = _is_product(node, self._fixed)
        if not self._open.isdisjoint(node.inputs):
            # It follows from a product that gets other segments the next time.
            self._open.update(() if product else filter(None, node.outputs))
            return
        begins = product and states[0] is None
        if not begins and not any(states) and not self._captures(node):
            return
        reading = Reading(
            self._graph,
            node,
            states,
            self._need,
            self._ranks,
            self._opset,
            frozenset([node.first_output()] if begins else []),
        )
        try:
            step = self._begun(reading) if begins else self._kept(reading, product=product)
        except FinerError as error:
            self._divide(reading, error)
        except CannotKeepError as error:
            why = str(error) if begins else f"{node.op_type}: {error}"
            self._refuse(reading.products, why)
        else:
            if step is not None:
                self.flow.steps[node.first_output()] = step
                if step.role != "gathered":
                    results = step.kept.results.items()
                    self.flow.states.update((node.outputs[i], state) for i, state in results)

    def _captures(self, node: Node) -> bool:
        return any(name in self.flow.states for name in node.captured)

    def _begun(self, reading: Reading) -> SplitStep | None:
        """The step of a product of what is whole; None if it stays whole."""
        name = reading.node.first_output()
        role = "columns"
        if name in self._refused:
            if name not in self._heads:
                return None
            role = "gathered"
        by_columns(reading, self._starts.get(name, (0,)) if role == "columns" else (0,))
        return SplitStep(reading.kept, role)

    def _kept(self, reading: Reading, *, product: bool) -> SplitStep:
        if self._captures(reading.node):
            raise CannotKeepError("a body reads it")
        state = reading.state(0)
        if product and state is not None and state.axis == len(reading.shape(0)) - 1:
            return SplitStep(reading.kept, "rows", by_rows(reading))
        rule = rule_of(reading.node.op_type, reading.node.domain)
        if rule is None:
            raise CannotKeepError("it isn't known to work on a part")
        rule(reading)
        return SplitStep(reading.kept)

    def _need(self, name: str, axis: int, segments: Segments, products: frozenset[str]) -> bool:
        if name in self._fixed:
            return True
        while (node := self._fixed.writers.get(name)) is not None and node.op_type in _VIEWS:
            if node.op_type == "Transpose":
                order = next((list(a.ints) for a in node.proto.attribute if a.name == "perm"), [])
                if not order:
                    break
                axis = order[axis]
            name = node.inputs[0]
        if node is not None:
            raise CannotKeepError("another of its inputs is whole")
        if name not in self._given:
            self._given[name] = Along(axis, segments, products)
            self._changed = True
        return False

    def _divide(self, reading: Reading, error: FinerError) -> None:
        """Begins again with more segments of the product that a value follows from."""
        state = reading.split()
        if len(state.products) != 1 or not state.scale:
            self._refuse(state.products, f"{reading.node.op_type}: {error}")
            return
        (product,) = state.products
        segments = self.flow.steps[product].kept.results[0].segments
        wanted = {start * state.scale for start in error.starts} - {sum(segments)}
        if wanted.issubset(starts_of(segments)):
            self._refuse(state.products, f"{reading.node.op_type}: {error}")
            return
        self._starts[product] = tuple(sorted({*self._starts.get(product, (0,)), *wanted}))
        if reading.node.op_type == "Reshape":  # into heads, fewer than GPUs: what will fail
            self._why_divided.setdefault(product, str(error))
        self._open.update(filter(None, reading.node.outputs))
        self._changed = True

    def _refuse(self, products: Iterable[str], why: str) -> None:
        whys = [self._why_divided[name] for name in sorted(products) if name in self._why_divided]
        why = next(iter(whys), why)
        for product in products:
            if product not in self._refused:
                self._refused[product] = why
                self._given.clear()
                self._changed = True


def _is_product(node: Node, fixed: Fixed) -> bool:
    """Whether a node multiplies what is computed with constant weights."""
    weights = len(node.inputs) > 1 and node.inputs[1] in fixed
    return may_be_product(node) and weights and node.inputs[0] not in fixed


def _heads(graph: Graph, fixed: Fixed) -> frozenset[str]:
    """Products with no product behind them, by their first output."""
    heads, read = set(), set[str]()
    for node in reversed(graph.nodes):
        behind = not read.isdisjoint(node.outputs)
        product = _is_product(node, fixed)
        if product and not behind:
            heads.add(node.first_output())
        if product or behind:
            read.update(node.inputs, node.captured)
            read.discard("")
    return frozenset(heads)
