"""The layer of a unit: its operators, without activations that change nothing.

Each scale and zero point is a constant of its own, whichever of them the model has in common or
with equal elements: no kernel's time depends on that. Where integers pass through unchanged, all
are the same.
"""

from collections.abc import Hashable

from msgspec.structs import replace

from benanza_ingest.groups.joining import Named
from benanza_ingest.groups.quantised.units import DEQUANTISE, QUANTISE, Unit, same_scale
from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import OMITTED, Layer, Operator, Tensor


def form(wiring: Wiring, unit: Unit) -> Named:
    """The layer of a unit, not canonical. Raises `LayerError` as `fingerprint` does."""
    places: dict[Hashable, int] = {"": OMITTED}
    names: dict[str, Hashable] = {}
    tensors: list[Tensor] = []
    operators: list[Operator] = []
    for at in unit.positions:
        node = wiring.node(at)
        if at in unit.clipped:
            names[node.outputs[0]] = names.get(node.inputs[0], node.inputs[0])
            continue
        layer = wiring.layers[at].layer
        assert layer is not None, "rules leave skipped layers out"
        (operator,) = layer.operators
        read: list[Hashable] = [names.get(name, name) for name in node.inputs]
        if wiring.layers[at].op in (QUANTISE, DEQUANTISE):
            scales = same_scale(wiring, at) if unit.keeps else [(at, name) for name in read[1:3]]
            read[1:3] = [own if name else "" for own, name in zip(scales, read[1:3], strict=True)]
        own = operator.inputs + operator.outputs
        used = (*read[: len(operator.inputs)], *node.outputs[: len(operator.outputs)])
        for name, index in zip(used, own, strict=True):
            if name not in places:
                places[name] = len(tensors)
                tensors.append(layer.tensors[index])
        indices = [places[name] for name in used]
        count = len(operator.inputs)
        operators.append(
            replace(operator, inputs=tuple(indices[:count]), outputs=tuple(indices[count:]))
        )
    results = tuple([places[names.get(name, name)] for name in wiring.results(unit.positions)])
    found = Layer(tuple(tensors), tuple(operators), results)
    return Named(found, tuple(map(str, places))[1:], fingerprint(found))
