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
    """The layer of a unit, not canonical."""
    places: dict[Hashable, int] = {"": OMITTED}
    passed: dict[str, str] = {}
    names: list[str] = []
    tensors: list[Tensor] = []
    operators: list[Operator] = []
    for position in unit.positions:
        node = wiring.node(position)
        if position in unit.clipped:
            passed[node.outputs[0]] = passed.get(node.inputs[0], node.inputs[0])
            continue
        layer = wiring.layers[position].layer
        assert layer is not None, "rules leave skipped layers out"
        (operator,) = layer.operators
        count = len(operator.inputs)
        used = [passed.get(name, name) for name in node.inputs[:count]]
        used += node.outputs[: len(operator.outputs)]
        keys: list[Hashable] = [*used]
        if wiring.layers[position].op in (QUANTISE, DEQUANTISE):
            own = [(position, name) if name else "" for name in used[1:count]]
            keys[1:count] = same_scale(wiring, position)[: count - 1] if unit.keeps else own
        for key, name, index in zip(keys, used, operator.inputs + operator.outputs, strict=True):
            if key not in places:
                places[key] = len(tensors)
                tensors.append(layer.tensors[index])
                names.append(name)
        indices = [places[key] for key in keys]
        operators.append(
            replace(operator, inputs=tuple(indices[:count]), outputs=tuple(indices[count:]))
        )
    results = tuple([places[passed.get(name, name)] for name in wiring.results(unit.positions)])
    made = Layer(tuple(tensors), tuple(operators), results)
    return Named(made, tuple(names), fingerprint(made))
