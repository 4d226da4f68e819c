"""Checks of what the analyzer relies on in a model's graph. What ingest makes passes them."""

from collections.abc import Sequence, Set

from benanza_backbone.errors import BenanzaError
from benanza_schemas.architecture import architecture_id
from benanza_schemas.events import Group, ModelIngested


class InvalidModelError(BenanzaError):
    """A ModelIngested event whose parts don't fit together."""


def check(event: ModelIngested) -> None:
    """Raises `InvalidModelError` unless the event's positions, groups and architecture's id are
    valid. The id may be the model's own.

    Groups must be convex: no path leaves a group and comes back, or no call could compute it. They
    may overlap, be unconnected, and have several results. Two convex groups may still need each
    other's results, so that a cover can't have both.
    """
    count = len(event.layers)
    for summary in event.summaries:
        if summary.kind in ("compute", "movement") and not summary.fingerprint:
            raise _invalid(event, f"a layer of type {summary.op} has no fingerprint")
    for source, target in event.edges:
        if not source < target < count:
            raise _invalid(event, f"the edge {source} to {target} doesn't lead to a later layer")
    read_by = readers(event)
    for group in event.groups:
        problem = _problem(group, event, read_by)
        if problem:
            raise _invalid(event, f"the {group.rule} group of layers {group.layers} {problem}")
    parts = (event.batch, event.summaries, event.layers, event.edges, event.groups)
    if event.architecture_id not in (event.model_id, identity := architecture_id(*parts)):
        raise _invalid(event, f"its architecture is {identity}, not {event.architecture_id}")


def readers(event: ModelIngested) -> list[list[int]]:
    """For each position, the positions that read what it writes."""
    read_by: list[list[int]] = [[] for _ in event.layers]
    for source, target in event.edges:
        read_by[source].append(target)
    return read_by


def _problem(group: Group, event: ModelIngested, read_by: Sequence[list[int]]) -> str:
    members = set(group.layers)
    if not members or len(members) < len(group.layers):
        return "is empty or holds a layer twice"
    last = max(members)
    if last >= len(event.layers):
        return "holds a layer that isn't there"
    if any(event.summaries[event.layers[member].summary].kind == "skipped" for member in members):
        return "holds a skipped layer"
    way = _way_back(members, read_by)
    return f"isn't convex: a path leaves it and comes back by the layers {way}" if way else ""


def _way_back(members: Set[int], read_by: Sequence[list[int]]) -> tuple[int, ...]:
    """A path out of these layers and back into them, the first and the last of it inside."""
    last = max(members)
    before = {}
    pending = []
    for source in sorted(members, reverse=True):
        for reader in read_by[source]:
            if reader < last and reader not in members and reader not in before:
                before[reader] = source
                pending.append(reader)
    while pending:
        source = pending.pop()
        for reader in read_by[source]:
            if reader in members:
                path = [reader, source]
                while path[-1] not in members:
                    path.append(before[path[-1]])
                return tuple(path[::-1])
            if reader < last and reader not in before:
                before[reader] = source
                pending.append(reader)
    return ()


def _invalid(event: ModelIngested, problem: str) -> InvalidModelError:
    return InvalidModelError(f"model {event.name!r} can't be analyzed: {problem}; ingest it again")
