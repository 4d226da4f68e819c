"""The graph in which equal layers are one, and layers that pass a value on are none.

Equal operators with equal inputs have equal results, but for those that draw numbers. Source:
common_subexpression_elimination.cc of ONNX Runtime 1.31.
"""

from collections.abc import Hashable
from dataclasses import replace
from typing import NamedTuple

import msgspec

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.groups.quantised.units import DEQUANTISE
from benanza_ingest.groups.simplified.passed_on import changes_nothing, undoes
from benanza_ingest.groups.wiring import OUTSIDE, Wiring, wire
from benanza_ingest.resolving.graph import Node
from benanza_ingest.resolving.repeated import known_value
from benanza_schemas.operators.table import facts_of


class Simplified(NamedTuple):
    """A simplified wiring. `places` holds for each layer of the whole one the layer that has its
    place, by position; `values` holds the names by which it knows values of other names.
    """

    wiring: Wiring
    places: tuple[int, ...]
    values: dict[str, str]


def simplified(wiring: Wiring) -> Simplified | None:
    """A graph with fewer layers that computes the same; None if there is none.

    What nothing reads any more is left out, too. A layer that is left out has the place of the one
    that writes what it reads, or if none does of one that reads its result: its result is there
    when that one is done, or before.
    """
    simplifier = _Simplifier(wiring)
    simplifier.apply()
    if not simplifier.values:
        return None
    live = simplifier.live()
    places = _places(wiring, simplifier.equal, live)
    graph = replace(
        wiring.graph,
        nodes=[simplifier.nodes[position] for position in live],
        outputs=[simplifier.values.get(name, name) for name in wiring.graph.outputs],
    )
    layers = tuple([wiring.layers[position] for position in live])
    return Simplified(wire(graph, layers), places, simplifier.values)


class _Simplifier:
    """`values` holds what is read instead of a value, `equal` the first of equal layers, which may
    be the layer itself, and `nodes` those that are left with what they read then.
    """

    def __init__(self, wiring: Wiring) -> None:
        self.values: dict[str, str] = {}
        self.equal: dict[int, int] = {}
        self.nodes: dict[int, Node] = {}
        self._wiring = wiring
        self._first_of: dict[Hashable, int] = {}

    def apply(self) -> None:
        """Goes through the layers once."""
        values = self.values
        for position, node in enumerate(self._wiring.graph.nodes):
            inputs = tuple([values.get(name, name) for name in node.inputs])
            if source := self._passed_on(position, inputs):
                values.update([(name, source) for name in node.outputs if name])
                continue
            first = self._first(position, inputs)
            self.equal[position] = first
            if first == position:
                captured = tuple([values.get(name, name) for name in node.captured])
                self.nodes[position] = msgspec.structs.replace(
                    node, inputs=inputs, captured=captured
                )
            else:
                written = self.nodes[first].outputs
                values.update(
                    [pair for pair in zip(node.outputs, written, strict=False) if pair[0]]
                )

    def live(self) -> list[int]:
        """The positions of those that are left and whose results are needed."""
        needed = {self.values.get(name, name) for name in self._wiring.graph.outputs}
        kept = []
        for position, node in reversed(self.nodes.items()):
            if not needed.isdisjoint(filter(None, node.outputs)):
                needed.update(node.inputs, node.captured)
                kept.append(position)
        return kept[::-1]

    def _passed_on(self, position: int, inputs: tuple[str, ...]) -> str:
        """The value that is the result of this layer; "" if it computes another."""
        wiring = self._wiring
        layer = wiring.layers[position]
        source = changes_nothing(wiring.graph, layer, inputs)
        before = wiring.writers.get(inputs[0]) if inputs and not source else None
        if before is not None and undoes(layer, wiring.layers[before]):
            source = self.nodes[before].inputs[0]
        is_result = OUTSIDE in wiring.readers.get(wiring.node(position).outputs[0], ())
        # An output of the model that is an input has to be written.
        return "" if is_result and source not in wiring.writers else source

    def _first(self, position: int, inputs: tuple[str, ...]) -> int:
        """The first layer that computes the same, which may be this one."""
        layer = self._wiring.layers[position]
        if not layer.fingerprint or _may_differ(layer):
            return position
        constants = self._wiring.graph.constants
        read = tuple(
            [known_value(constants, name) if name in constants else name for name in inputs]
        )
        return self._first_of.setdefault((layer.fingerprint, layer.kind, read), position)


def _may_differ(layer: ExtractedLayer) -> bool:
    """Whether equal layers may have other results, or each reader is to have one of its own."""
    random = facts_of(layer.op, layer.domain).kind == "random"
    draws = random or (layer.op == "Dropout" and layer.kind != "view")
    return draws or layer.op == DEQUANTISE


def _places(wiring: Wiring, equal: dict[int, int], live: list[int]) -> tuple[int, ...]:
    """`places` of `Simplified`."""
    number = {position: place for place, position in enumerate(live)}
    before = {target: source for source, target in wiring.edges}
    positions = range(len(wiring.layers))
    places: dict[int, int] = {}
    roots: dict[int, int] = {}
    for position in positions:
        writer = before.get(position, OUTSIDE)
        place = number.get(equal.get(position, position), places.get(writer))
        if place is not None:
            places[position] = place
        else:  # It passes on what the model reads; all that goes through one layer stays together.
            roots[position] = roots.get(writer, position)
    readers: dict[int, int] = {}
    for source, target in wiring.edges:
        if source in roots and target in places:
            first = readers.setdefault(roots[source], target)
            readers[roots[source]] = min(first, target)
    for position, root in roots.items():
        # What only led to a state that is in place has no reader.
        places[position] = places[readers[root]] if root in readers else 0
    return tuple([places[position] for position in positions])
