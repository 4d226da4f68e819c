"""Runs all rules and turns the positions that they propose into layers of several operators."""

from benanza_schemas.identity import canonical, fingerprint_of_canonical
from benanza_schemas.layer import OMITTED, Layer, Operator, Tensor

from benanza_ingest import costs
from benanza_ingest.extracted import ExtractedGroup, ExtractedLayer
from benanza_ingest.graph import Graph
from benanza_ingest.groups import epilogue
from benanza_ingest.groups.wiring import Wiring, wire

_RULES = ((epilogue.RULE, epilogue.propose),)


def propose_groups(graph: Graph, layers: tuple[ExtractedLayer, ...]) -> tuple[ExtractedGroup, ...]:
    """The groups of all rules, each set of layers once."""
    wiring = wire(graph, layers)
    made: dict[object, ExtractedGroup] = {}
    groups: dict[tuple[int, ...], ExtractedGroup] = {}
    for rule, propose in _RULES:
        for positions in propose(wiring):
            if positions in groups:
                continue
            key, names = _pattern(wiring, positions)
            if key not in made:
                made[key] = _group(wiring, rule, positions, names)
            first = made[key]
            groups[positions] = ExtractedGroup(
                first.rule,
                positions,
                first.layer,
                first.fingerprint,
                first.flops,
                first.bytes,
            )
    return tuple(groups.values())


def _pattern(wiring: Wiring, positions: tuple[int, ...]) -> tuple[object, dict[str, int]]:
    """What two groups share that are the same layer, and the values numbered as they occur."""
    names: dict[str, int] = {}
    pattern: list[object] = []
    for position in positions:
        node = wiring.node(position)
        for name in (*node.inputs, *node.outputs):
            names.setdefault(name, len(names))
        pattern.append(
            (
                wiring.layers[position].fingerprint,
                tuple([names[name] for name in node.inputs]),
                tuple([names[name] for name in node.outputs]),
            )
        )
    return tuple(pattern), names


def _group(
    wiring: Wiring, rule: str, positions: tuple[int, ...], names: dict[str, int]
) -> ExtractedGroup:
    tensors: dict[int, Tensor] = {}
    operators: list[Operator] = []
    for position in positions:
        layer = wiring.layers[position].layer
        assert layer is not None, "rules leave skipped layers out"
        operator = layer.operators[0]
        node = wiring.node(position)
        inputs = _places(operator.inputs, node.inputs, names)
        outputs = _places(operator.outputs, node.outputs, names)
        for local, place in zip(
            (*operator.inputs, *operator.outputs), (*inputs, *outputs), strict=True
        ):
            if place != OMITTED:
                tensors[place] = _merged(tensors.get(place), layer.tensors[local])
        operators.append(
            Operator(
                operator.op_type,
                operator.domain,
                operator.version,
                operator.attributes,
                inputs,
                outputs,
            )
        )
    dense = {place: number for number, place in enumerate(sorted(tensors))}
    dense[OMITTED] = OMITTED
    group = canonical(
        Layer(
            tensors=tuple(tensors[place] for place in sorted(tensors)),
            operators=tuple(
                Operator(
                    op.op_type,
                    op.domain,
                    op.version,
                    op.attributes,
                    tuple(dense[i] for i in op.inputs),
                    tuple(dense[i] for i in op.outputs),
                )
                for op in operators
            ),
            outputs=tuple(dense[i] for i in operators[-1].outputs if i != OMITTED),
        )
    )
    return ExtractedGroup(
        rule=rule,
        layers=positions,
        layer=group,
        fingerprint=fingerprint_of_canonical(group),
        flops=costs.flops(group),
        bytes=costs.moved_bytes(group),
    )


def _places(
    local: tuple[int, ...], given: tuple[str, ...], names: dict[str, int]
) -> tuple[int, ...]:
    """An operator's tensors numbered across the group; a layer leaves out omitted tails."""
    return tuple(
        OMITTED if index == OMITTED else names[name]
        for index, name in zip(local, given, strict=False)
    )


def _merged(known: Tensor | None, seen: Tensor) -> Tensor:
    """One tensor read by two operators: its value counts if it decides either."""
    return seen if known is None or known.value is None else known
