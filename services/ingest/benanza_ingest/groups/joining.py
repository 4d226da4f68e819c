"""Joins layers of a model into one layer of several operators."""

from itertools import pairwise

import msgspec

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


class _Part(msgspec.Struct, frozen=True, eq=False):
    """Operators with their tensors, in the order in which the operators name them."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]


class Joiner:
    """Joins layers of one model. Equal layers with equal wiring are joined once."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        # By the positions of layers: their part, and the places of values in it.
        self._grown: dict[tuple[int, ...], tuple[_Part, dict[str, int]]] = {
            (): (_Part((), ()), {"": OMITTED})
        }
        self._parts: dict[object, _Part] = {}
        self._joined: dict[_Part, Joined] = {}

    def join(self, positions: tuple[int, ...]) -> Joined:
        """Joins the layers at these positions, which are in topological order."""
        part, _ = self._grow(positions)
        joined = self._joined.get(part)
        if joined is None:
            layer = _layer(part)
            joined = Joined(layer, fingerprint_of_canonical(layer), costs.moved_bytes(layer))
            self._joined[part] = joined
        return joined

    def named(self, positions: tuple[int, ...]) -> Named:
        """Joins these layers, with the names that their tensors have in the model."""
        part, places = self._grow(positions)
        outputs = tuple([place for place in part.operators[-1].outputs if place != OMITTED])
        names = {place: name for name, place in places.items()}
        return Named(
            Layer(part.tensors, part.operators, outputs),
            tuple([names[place] for place in range(len(part.tensors))]),
            self.join(positions).fingerprint,
        )

    def _grow(self, positions: tuple[int, ...]) -> tuple[_Part, dict[str, int]]:
        grown = self._grown.get(positions)
        if grown is None:
            # Rules often propose a former group with one more layer.
            before, places = self._grow(positions[:-1])
            node, extracted = self._wiring.node(positions[-1]), self._wiring.layers[positions[-1]]
            assert extracted.layer is not None, "rules leave skipped layers out"
            operator = extracted.layer.operators[0]
            places = places.copy()
            # A layer doesn't have the omitted ones at the end.
            inputs = node.inputs[: len(operator.inputs)]
            outputs = node.outputs[: len(operator.outputs)]
            read = tuple([places.setdefault(name, len(places) - 1) for name in inputs])
            written = tuple([places.setdefault(name, len(places) - 1) for name in outputs])
            alike = (before, extracted.fingerprint, read, written)
            part = self._parts.get(alike)
            if part is None:
                part = self._parts[alike] = _extended(before, extracted.layer, read, written)
            grown = self._grown[positions] = part, places
        return grown


def _extended(part: _Part, layer: Layer, read: tuple[int, ...], written: tuple[int, ...]) -> _Part:
    """The part with one more layer, whose operator reads and writes at these places."""
    operator = layer.operators[0]
    tensors = list(part.tensors)
    own = operator.inputs + operator.outputs
    for place, index in zip(read + written, own, strict=True):
        if place == len(tensors):
            tensors.append(layer.tensors[index])
        elif place != OMITTED and layer.tensors[index].value is not None:
            # The elements decide what this operator does, though not what an earlier one did.
            tensors[place] = layer.tensors[index]
    rewired = Operator(
        operator.op_type, operator.domain, operator.version, operator.attributes, read, written
    )
    return _Part(tuple(tensors), (*part.operators, rewired))


def _layer(part: _Part) -> Layer:
    outputs = tuple([place for place in part.operators[-1].outputs if place != OMITTED])
    layer = Layer(part.tensors, part.operators, outputs)
    return layer if len(outputs) == 1 and _is_chain(part.operators) else canonical(layer)


def _is_chain(operators: tuple[Operator, ...]) -> bool:
    """Whether each operator reads the result of the one before it. Then there is only one order of
    the operators, and it is canonical.
    """
    for before, after in pairwise(operators):
        if len(before.outputs) != 1 or before.outputs[0] not in after.inputs:
            return False
    return True
