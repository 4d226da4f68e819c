"""Joins layers with the single numbers among their constants.

What else is known of a group's constants is their shape and type, so that a measurement holds for
all weights, and the runner draws numbers for them. With its numbers a group has another identity.
So the same layers may be two groups: one by a rule for libraries that don't look at the numbers,
of which what was measured still holds, and one with them. The bound takes the faster.
"""

from collections.abc import Iterable, Iterator
from math import prod

from msgspec.structs import replace

from benanza_ingest.extracted import ExtractedGroup
from benanza_ingest.groups.joining import Joiner, Named
from benanza_ingest.groups.wiring import Wiring
from benanza_ingest.layering import costs
from benanza_ingest.layering.tensors import raw_data
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import Layer


def with_numbers(
    wiring: Wiring, joiner: Joiner, rule: str, proposed: Iterable[tuple[int, ...]]
) -> Iterator[ExtractedGroup]:
    """The groups of these positions, with the numbers that are known."""
    made: dict[Layer, ExtractedGroup] = {}
    for positions in proposed:
        named = numbered(wiring, joiner.named(positions))
        if named.layer not in made:
            joined = named.joined()
            work = costs.flops(joined.layer), joined.bytes
            made[named.layer] = ExtractedGroup(
                joined.fingerprint, rule, (), *work, layer=joined.layer
            )
        yield replace(made[named.layer], layers=positions)


def numbered(wiring: Wiring, named: Named) -> Named:
    """Joined layers with the numbers that are known."""
    tensors = list(named.layer.tensors)
    for index, tensor in enumerate(tensors):
        if tensor.constant and tensor.value is None and prod(tensor.shape) == 1:
            tensors[index] = replace(tensor, value=_number(wiring, named.names[index]))
    layer = replace(named.layer, tensors=tuple(tensors))
    return Named(layer, named.names, fingerprint(layer))


def is_number(wiring: Wiring, name: str) -> bool:
    """Whether a value is one constant number that is known."""
    known = wiring.graph.types.get(name)
    single = known is not None and known.resolved and known.elements() == 1
    return single and _number(wiring, name) is not None


def _number(wiring: Wiring, name: str) -> bytes | None:
    constants = wiring.graph.constants
    value = constants.value(name) if name in constants else None
    return None if value is None or value.size != 1 else raw_data(value)
