"""Groups of a whole graph that run as layers and groups of its simplified graph do."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from benanza_ingest.extracted import ExtractedGroup
from benanza_ingest.groups.simplified.simplify import Simplified
from benanza_ingest.groups.wiring import Wiring

RULE = "once"
"""Of groups that run as one of their layers does. Of those that run as a group of the simplified
graph does, the rule of that follows."""

MOST_COPIES = 64
"""For each layer of the model, the positions that all groups together may have or span: a layer
with a thousand copies may be in groups with each of a thousand readers."""


def propose(
    wiring: Wiring,
    simplification: Simplified,
    known: Iterable[ExtractedGroup],
    groups: Iterable[ExtractedGroup],
) -> Iterator[ExtractedGroup]:
    """The layers and the `groups` of the simplified graph, as groups of the whole one; without
    those in which nothing was simplified, and those that are among its `known` ones, with or
    without views.

    Those that run as a layer does come first. One that isn't convex is left out: a copy of what it
    reads may be computed from what it writes, where something else needs that anyway.
    """
    members: dict[int, list[int]] = defaultdict(list)
    changed = set[int]()
    for position, place in enumerate(simplification.places):
        members[place].append(position)
        if len(members[place]) > 1 or not simplification.values.keys().isdisjoint(
            wiring.node(position).inputs
        ):
            changed.add(place)
    before = _before(wiring) if _has_detours(wiring, simplification) else None
    keys = {_key(wiring, known_group) for known_group in known}
    left = MOST_COPIES * len(wiring.layers)
    for group in chain(_alone(simplification.wiring), groups):
        if changed.isdisjoint(group.layers):
            continue
        positions = tuple(sorted([member for place in group.layers for member in members[place]]))
        rule = group.rule if group.rule == RULE else f"{RULE} {group.rule}"
        whole = replace(group, layers=positions, rule=rule)
        key = _key(wiring, whole)
        left -= len(positions) if before is None else positions[-1] - positions[0]
        if left < 0 or len(key.timed) < 2 or key in keys:
            continue
        keys.add(key)
        if before is None or _is_convex(positions, before):
            yield whole


class _Key(NamedTuple):
    """What a group runs as, and in place of which layers that take time."""

    fingerprint: str
    timed: tuple[int, ...]


def _key(wiring: Wiring, group: ExtractedGroup) -> _Key:
    timed = [position for position in group.layers if wiring.layers[position].kind != "view"]
    return _Key(group.fingerprint, tuple(timed))


def _alone(simple: Wiring) -> Iterator[ExtractedGroup]:
    """The layers of the simplified graph that take time, each as a group."""
    for place, layer in enumerate(simple.layers):
        if layer.layer is not None and layer.kind != "view":
            yield ExtractedGroup(
                *(layer.fingerprint, RULE, (place,)),
                *(layer.flops, layer.bytes),
                layer=layer.layer,
            )


def _has_detours(wiring: Wiring, simplification: Simplified) -> bool:
    """Whether an edge of the whole graph leads where no edge of the simplified graph does. Without
    such an edge, what is convex in the one is convex in the other.
    """
    known = set(simplification.wiring.edges)
    between = (
        (simplification.places[source], simplification.places[target])
        for source, target in wiring.edges
    )
    return any(source != target and (source, target) not in known for source, target in between)


def _before(wiring: Wiring) -> dict[int, list[int]]:
    """For each position, those of the layers that it reads from."""
    before: dict[int, list[int]] = defaultdict(list)
    for source, target in wiring.edges:
        before[target].append(source)
    return before


def _is_convex(positions: tuple[int, ...], before: dict[int, list[int]]) -> bool:
    """Whether no path leaves these layers and comes back."""
    inside = set(positions)
    beyond: set[int] = set()
    for position in range(positions[0], positions[-1] + 1):
        reached = any(source in beyond or source in inside for source in before.get(position, ()))
        if position not in inside and reached:
            beyond.add(position)
        elif position in inside and not beyond.isdisjoint(before.get(position, ())):
            return False
    return True
