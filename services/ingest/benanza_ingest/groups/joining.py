"""Joins layers of a model into one layer of several operators.

A gather's constant indices that repeat smaller ones are made of these in the joined layer.
"""

from itertools import pairwise
from typing import NamedTuple

import msgspec

from benanza_ingest.groups.regions.fusible import GATHERING
from benanza_ingest.groups.repeated import repeated
from benanza_ingest.groups.wiring import Wiring
from benanza_ingest.layering import costs
from benanza_schemas.identity import canonical, fingerprint_of_canonical
from benanza_schemas.layer import OMITTED, Layer, Operator, Tensor


class Joined(msgspec.Struct, frozen=True):
    """Joined layers in canonical form. `bytes` is that of `costs`."""

    layer: Layer
    fingerprint: str
    bytes: int


class Named(msgspec.Struct, frozen=True):
    """Joined layers, not canonical, with the model's name for each tensor."""

    layer: Layer
    names: tuple[str, ...]
    fingerprint: str

    def joined(self) -> Joined:
        """The same in canonical form. Raises `LayerError` as `canonical` does."""
        layer = canonical(self.layer)
        return Joined(layer, self.fingerprint, costs.moved_bytes(layer))


_Member = tuple[str, tuple[str, ...], tuple[str, ...]]
"""A layer's fingerprint, and the names of what it reads and writes."""


_WiredLayer = tuple[str, tuple[int, ...], tuple[int, ...]]
"""The same with places instead of names."""

_NO_PLACES = {"": OMITTED}
"""The omitted value is the first one here, so that the first real one has place 0."""


class _Wired(NamedTuple):
    """Layers by fingerprint, with the places of what each reads and writes, and their results.

    Places count the values from 0, in the order in which the layers name them.
    """

    layers: tuple[_WiredLayer, ...]
    results: tuple[int, ...]


class Joiner:
    """Joins layers of one model. Equal layers with equal wiring are joined once."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._members: dict[int, tuple[_Member, ...]] = {}
        self._layers: dict[str, Layer] = {}
        self._joined: dict[_Wired, Joined] = {}
        self._last: tuple[tuple[int, ...], list[_WiredLayer], dict[str, int]]
        self._last = (), [], dict(_NO_PLACES)

    def join(self, positions: tuple[int, ...]) -> Joined:
        """Joins the layers at these positions, which are in topological order.

        Raises `LayerError` if too many of their results look the same, as `canonical` does.
        """
        wired, _ = self._wired(positions)
        joined = self._joined.get(wired)
        if joined is None:
            layer = self._layer(wired)
            if len(layer.outputs) > 1 or not _is_chain(layer):
                layer = canonical(layer)
            joined = Joined(layer, fingerprint_of_canonical(layer), costs.moved_bytes(layer))
            self._joined[wired] = joined
        return joined

    def named(self, positions: tuple[int, ...]) -> Named:
        """Joins these layers, with the names that their tensors have in the model."""
        wired, places = self._wired(positions)
        layer = self._layer(wired)
        return Named(layer, tuple(places)[1:], self.join(positions).fingerprint)

    def _wired(self, positions: tuple[int, ...]) -> tuple[_Wired, dict[str, int]]:
        """The layers with their places, and the places of values by name."""
        # Many groups are the one before and a further layer.
        done, layers, places = self._last
        if positions[: len(done)] != done:
            done, layers, places = (), [], dict(_NO_PLACES)
        for position in positions[len(done) :]:
            if position not in self._members:
                self._members[position] = self._members_of(position)
            for fingerprint, inputs, outputs in self._members[position]:
                if outputs[0] and outputs[0] in places:
                    continue  # What repeats a constant stands there once.
                read = tuple([places.setdefault(name, len(places) - 1) for name in inputs])
                written = tuple([places.setdefault(name, len(places) - 1) for name in outputs])
                layers.append((fingerprint, read, written))
        self._last = positions, layers, places
        results = tuple([places[name] for name in self._wiring.results(positions)])
        return _Wired(tuple(layers), results), places

    def _members_of(self, position: int) -> tuple[_Member, ...]:
        """The layer at a position, and before it what repeats its constants."""
        node, extracted = self._wiring.graph.nodes[position], self._wiring.layers[position]
        assert extracted.layer is not None, "rules leave skipped layers out"
        operator = extracted.layer.operators[0]
        self._layers[extracted.fingerprint] = extracted.layer
        # A layer doesn't have the omitted ones at the end.
        inputs = list(node.inputs[: len(operator.inputs)])
        outputs = node.outputs[: len(operator.outputs)]
        before = []
        if operator.op_type in GATHERING and not operator.domain:
            expand = repeated(self._wiring.graph, inputs[1], operator.version)
            if expand is not None:
                look = fingerprint_of_canonical(expand.layer)
                self._layers[look] = expand.layer
                before.append((look, expand.inputs, (expand.output,)))
                inputs[1] = expand.output
        return (*before, (extracted.fingerprint, tuple(inputs), outputs))

    def _layer(self, wired: _Wired) -> Layer:
        tensors: list[Tensor] = []
        operators: list[Operator] = []
        for fingerprint, read, written in wired.layers:
            layer = self._layers[fingerprint]
            operator = layer.operators[0]
            own = operator.inputs + operator.outputs
            for place, index in zip(read + written, own, strict=True):
                if place == len(tensors):
                    tensors.append(layer.tensors[index])
                elif place != OMITTED and layer.tensors[index].value is not None:
                    # The elements decide what this operator does, if not what an earlier one did.
                    tensors[place] = layer.tensors[index]
            operators.append(msgspec.structs.replace(operator, inputs=read, outputs=written))
        return Layer(tuple(tensors), tuple(operators), wired.results)


def _is_chain(layer: Layer) -> bool:
    """Whether each operator reads the result of the one before it. Then there is only one order of
    the operators, and it is canonical.
    """
    for before, after in pairwise(layer.operators):
        if len(before.outputs) != 1 or before.outputs[0] not in after.inputs:
            return False
    return layer.outputs == layer.operators[-1].outputs
