"""A node as its rule sees it: what it reads, how that is split, and what has to be, too."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from onnx import helper

from benanza_ingest.deriving.parallel.along import Along, CannotKeepError, Segments, Shape, checked
from benanza_ingest.resolving.graph import Graph, Node

Array = npt.NDArray[Any]

Need = Callable[[str, int, Segments, frozenset[str]], bool]
"""Whether a value that is whole is fixed, and so can be split where it is read.

True for a constant. False for an input of the model: it is split from now on. Raises
`CannotKeepError` for any other value.
"""


class KeptSplit(msgspec.Struct):
    """What each rank computes of a node: how its results are split, by position, and what differs.

    `parts` are the constants that are split, by input, with axis and segments; `values` are
    constants of its own; `attributes` have other values.
    """

    results: dict[int, Along]
    parts: dict[int, tuple[int, Segments]] = msgspec.field(default_factory=dict)
    values: dict[int, Array] = msgspec.field(default_factory=dict)
    attributes: dict[str, Any] = msgspec.field(default_factory=dict)


class Reading:
    """A node of a graph with the splits of its inputs, by position; None for those that are whole.

    `products` is to be added to those that its results follow from.
    """

    def __init__(
        self,
        graph: Graph,
        node: Node,
        states: list[Along | None],
        need: Need,
        ranks: int,
        opset: int,
        products: frozenset[str] = frozenset(),
    ) -> None:
        self.node = node
        self.states = states
        self.ranks = ranks
        self.opset = opset
        self.kept = KeptSplit({})
        self._graph = graph
        self._need = need
        known = [state for state in states if state is not None]
        self.products = products.union(*(state.products for state in known))
        self._scale = known[0].scale if len(known) == 1 else 0

    def has(self, slot: int) -> bool:
        """Whether the input isn't left out."""
        return slot < len(self.node.inputs) and self.node.inputs[slot] != ""

    def state(self, slot: int) -> Along | None:
        """How an input is split; None if it is whole, or left out."""
        return self.states[slot] if slot < len(self.states) else None

    def split(self) -> Along:
        """The split of the first input that is split."""
        return next(state for state in self.states if state is not None)

    def shape(self, slot: int) -> Shape:
        """The whole shape of an input. Raises `CannotKeepError` if it isn't known."""
        return self._dims(self.node.inputs[slot])

    def result(self, position: int = 0) -> Shape:
        """The whole shape of a result. Raises `CannotKeepError` if it isn't known."""
        return self._dims(self.node.outputs[position])

    def _dims(self, name: str) -> Shape:
        known = self._graph.constants.type_of(name)
        if known is None or not known.resolved:
            raise CannotKeepError("a shape isn't known")
        return known.dims()

    def value(self, slot: int) -> Array:
        """The elements of a constant. Raises `CannotKeepError` if they aren't known."""
        name = self.node.inputs[slot]
        value = self._graph.constants.value(name) if name in self._graph.constants else None
        if value is None:
            raise CannotKeepError("what says how to move elements is computed")
        return np.asarray(value)

    def attribute(self, name: str, default: Any) -> Any:
        """An attribute's value, or the default."""
        for attribute in self.node.proto.attribute:
            if attribute.name == name:
                return helper.get_attribute_value(attribute)
        return default

    def need(self, slot: int, axis: int, segments: Segments) -> None:
        """Has an input split so, if it isn't left out. Raises `CannotKeepError` if it can't be."""
        if not self.has(slot):
            return
        state = self.state(slot)
        if state is None:
            if sum(segments) != self.shape(slot)[axis]:
                raise CannotKeepError("sizes of what is split differ")
            checked(segments, self.ranks)
            if self._need(self.node.inputs[slot], axis, segments, self.products):
                self.kept.parts[slot] = axis, segments
        elif (state.axis, state.segments) != (axis, segments):
            raise CannotKeepError("its inputs are split in other ways")

    def whole(self, *slots: int) -> None:
        """Raises `CannotKeepError` if one of these is split."""
        if any(self.state(slot) is not None for slot in slots):
            raise CannotKeepError("an input that it needs as a whole is split")

    def divide(self, name: str, *, default: int | None = None) -> None:
        """Has an attribute divided by the number of ranks. Raises `CannotKeepError` if it can't."""
        value = self.attribute(name, default)
        if value:
            if value % self.ranks:
                raise CannotKeepError(f"its {name} of {value} can't be divided by {self.ranks}")
            self.kept.attributes[name] = value // self.ranks

    def keep(
        self, axis: int, segments: Segments, position: int = 0, scale: int | None = None
    ) -> None:
        """Says that a result is split so, if anything reads it."""
        if position < len(self.node.outputs) and self.node.outputs[position]:
            if sum(segments) != self.result(position)[axis]:
                raise CannotKeepError("sizes of what is split differ")
            along = self._scale if scale is None else scale
            self.kept.results[position] = Along(
                axis, checked(segments, self.ranks), self.products, along
            )
