"""Runs all rules and turns the positions that they propose into layers of several operators."""

from benanza_schemas.identity import canonical, fingerprint_of_canonical
from benanza_schemas.layer import OMITTED, Layer, Operator, Tensor

from benanza_ingest import costs
from benanza_ingest.extracted import ExtractedGroup
from benanza_ingest.groups import epilogue
from benanza_ingest.groups.wiring import Wiring

_RULES = ((epilogue.RULE, epilogue.propose),)


def propose_groups(wiring: Wiring) -> tuple[ExtractedGroup, ...]:
    """The groups of all rules, each set of layers once."""
    made: dict[object, tuple[Layer, str, int]] = {}
    groups: dict[tuple[int, ...], ExtractedGroup] = {}
    for rule, propose in _RULES:
        for positions in propose(wiring):
            if positions in groups:
                continue
            pattern = _pattern(wiring, positions)
            if pattern not in made:
                layer = _layer(wiring, positions)
                made[pattern] = layer, fingerprint_of_canonical(layer), costs.moved_bytes(layer)
            layer, fingerprint, moved = made[pattern]
            flops = sum([wiring.layers[position].flops for position in positions])
            groups[positions] = ExtractedGroup(rule, positions, layer, fingerprint, flops, moved)
    return tuple(groups.values())


def _pattern(wiring: Wiring, positions: tuple[int, ...]) -> object:
    """The same for two groups that are the same layer: their members and how they are wired."""
    numbers: dict[str, int] = {}
    pattern: list[object] = []
    for position in positions:
        node = wiring.graph.nodes[position]
        pattern.append(wiring.layers[position].fingerprint)
        for name in (*node.inputs, "", *node.outputs):
            pattern.append(numbers.setdefault(name, len(numbers)))
    return tuple(pattern)


def _layer(wiring: Wiring, positions: tuple[int, ...]) -> Layer:
    """The members' operators over one list of tensors, in canonical form."""
    places: dict[str, int] = {"": OMITTED}
    tensors: list[Tensor] = []
    operators: list[Operator] = []
    for position in positions:
        node, member = wiring.graph.nodes[position], wiring.layers[position].layer
        assert member is not None, "rules leave skipped layers out"
        (operator,) = member.operators
        wires = []
        for local, names in (
            (operator.inputs, node.inputs),
            (operator.outputs, node.outputs),
        ):
            wire = []
            # A layer leaves out what is omitted at the end, so that names may be left over.
            for index, name in zip(local, names, strict=False):
                if index == OMITTED:
                    wire.append(OMITTED)
                    continue
                if name not in places:
                    places[name] = len(tensors)
                    tensors.append(member.tensors[index])
                elif member.tensors[index].value is not None:
                    tensors[places[name]] = member.tensors[index]
                wire.append(places[name])
            wires.append(tuple(wire))
        operators.append(
            Operator(
                operator.op_type,
                operator.domain,
                operator.version,
                operator.attributes,
                wires[0],
                wires[1],
            )
        )
    last = tuple([index for index in operators[-1].outputs if index != OMITTED])
    return canonical(Layer(tuple(tensors), tuple(operators), last))
