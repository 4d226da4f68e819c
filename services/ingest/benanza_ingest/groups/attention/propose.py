"""Groups of attention: each alone, and with what moves its operands and its result.

Libraries read queries, keys and values with any strides, and write the result so. So there are
further groups with the layers before that only move elements or scale them, and with a Transpose
of the result. Only columns have to lie next to each other: if those of the keys do so before a
Transpose alone, all groups have that Transpose. Each of them has another one if its keys and values
are dequantised.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from benanza_ingest.groups.attention.dequantised import (
    dequantising,
    is_dequantised,
    with_codes,
)
from benanza_ingest.groups.attention.find import Match, Operand, find
from benanza_ingest.groups.attention.heads import by_head
from benanza_ingest.groups.attention.layouts import Placed, inverse, whole
from benanza_ingest.groups.attention.movement import dtype_of, may_move, moved, shape_of
from benanza_ingest.groups.attention.normal_form import Form, Function, normal_form
from benanza_ingest.groups.attention.scores import factor
from benanza_ingest.groups.joining import Named
from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import Tensor

RULE = "attention"

LONGEST = 16
"""The most layers that move one operand."""

SCALED = (0, 1)
"""The operands that may be scaled, queries and keys: that is a scale of the scores."""


class Proposal(NamedTuple):
    """Layers at these positions as one attention.

    `names` holds the model's name for each tensor of the form, empty for those the model lacks.
    `in_place` says whether operands are read where they are before anything moves them.
    """

    positions: tuple[int, ...]
    form: Form
    names: tuple[str, ...]
    in_place: bool

    def named(self) -> Named:
        """The layer, not canonical, with these names."""
        return Named(self.form.layer, self.names, fingerprint(self.form.layer))


class _Step(NamedTuple):
    """A layer that makes `result` of `source`, by moving it or by a scale."""

    position: int
    source: str
    result: str
    scale: float | None


def propose(wiring: Wiring) -> list[Proposal]:
    """Each group once, its layers in the order in which they run."""
    proposals: dict[tuple[int, ...], Proposal] = {}
    forms: dict[object, Form | None] = {}
    for position in wiring.of("Softmax", "Attention"):
        try:
            match = find(wiring, position)
            for proposal in _proposals(wiring, forms, match) if match else ():
                proposals.setdefault(proposal.positions, proposal)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            # A file can contradict an operator's definition in too many ways to list.
            continue
    return list(proposals.values())


def _proposals(
    wiring: Wiring, forms: dict[object, Form | None], match: Match
) -> Iterator[Proposal]:
    paths = [
        _path(wiring, operand.name, scaled=slot in SCALED)
        for slot, operand in enumerate(match.operands)
    ]
    alone = [
        _by_rows(wiring, operand, path, _first_of_last_scales(wiring, path))
        for operand, path in zip(match.operands, paths, strict=True)
    ]
    writers = wiring.writers
    masks = {writers[name] for name, _ in match.added() if name in writers}
    tails = _tails(wiring, match)
    for in_place, starts in ((False, alone), (True, [0] * len(paths))):
        read = _in_place(wiring, match, paths, starts, masks)
        for tail in tails:
            proposal = read and _proposal(wiring, forms, match, read, tail, in_place)
            if proposal and len(proposal.positions) > 1:
                yield proposal
            if read and proposal:
                yield from _of_codes(wiring, proposal, read.sources[1:3])


def _of_codes(wiring: Wiring, proposal: Proposal, kept: tuple[str, ...]) -> Iterator[Proposal]:
    """The same with what dequantises its keys and values, if anything does."""
    before = dequantising(wiring, kept, set(proposal.positions))
    if before:
        form, names = with_codes(wiring, proposal.form, proposal.names, before)
        positions = tuple(sorted({*proposal.positions, *before}))
        yield proposal._replace(positions=positions, form=form, names=names)


def _path(wiring: Wiring, name: str, *, scaled: bool) -> tuple[_Step, ...]:
    """The layers that move or scale a value on its way to an operand."""
    steps: list[_Step] = []
    while name in wiring.writers and len(steps) < LONGEST:
        position = wiring.writers[name]
        scaling = factor(wiring, position) if scaled else None
        if scaling is not None:
            steps.append(_Step(position, scaling[0], name, scaling[1]))
        elif may_move(wiring, position):
            steps.append(_Step(position, wiring.node(position).inputs[0], name, None))
        else:
            break
        name = steps[-1].source
    return tuple(reversed(steps))


def _first_of_last_scales(wiring: Wiring, path: Sequence[_Step]) -> int:
    """Where the scales begin that are right before a product, but for views."""
    first = len(path)
    for place in range(len(path) - 1, -1, -1):
        if path[place].scale is not None:
            first = place
        elif wiring.layers[path[place].position].kind != "view":
            break
    return first


def _by_rows(wiring: Wiring, operand: Operand, path: Sequence[_Step], latest: int) -> int:
    """The last start, but `latest` at most, at which the columns of each row of an operand lie next
    to each other, as libraries want them; `latest` if there is none.
    """
    for start in range(latest, -1, -1):
        rest = path[start:]
        view = _followed(wiring, rest, rest[0].source if rest else operand.name)
        seen = None if view is None else operand.seen(view)
        if seen is not None and seen.axes[-1] and seen.axes[-1][-1][1] == 1:
            return start
    return latest


class _Tail(NamedTuple):
    """The layers after an attention, and where they put its result within theirs."""

    positions: tuple[int, ...]
    result: str
    placed: Placed


def _tails(wiring: Wiring, match: Match) -> list[_Tail]:
    """No layers, and those up to a Transpose of the result; none but views are between."""
    shape = prod(match.lead), match.operands[0].shape[-2], match.operands[2].shape[-1]
    position, seen, tail = match.members[-1], match.result, tuple[int, ...]()
    tails: list[_Tail] = []
    while True:
        result = wiring.node(position).outputs[0]
        placed = inverse(seen, shape)
        layer = wiring.layers[position]
        turns = layer.op == "Transpose" and layer.kind != "view"
        if placed is not None and (turns or not tail):
            tails.append(_Tail(tail, result, placed))
        follower = wiring.only_reader(position)
        if turns or follower is None or not may_move(wiring, follower):
            return tails
        layer = wiring.layers[follower]
        if layer.kind != "view" and layer.op != "Transpose":
            return tails
        after = moved(wiring, follower, wiring.node(follower).outputs[0], seen)
        if after is None:
            return tails
        position, seen, tail = follower, after, (*tail, follower)


class _Read(NamedTuple):
    """What is read in place: the layers before the operands, their sources and the scale.

    `views` are those of the operands within their sources, and of the masks.
    """

    positions: frozenset[int]
    sources: tuple[str, ...]
    scale: float
    views: tuple[Placed, ...]


def _in_place(
    wiring: Wiring,
    match: Match,
    paths: Sequence[Sequence[_Step]],
    starts: Sequence[int],
    masks: set[int],
) -> _Read | None:
    """The operands as they are read where the paths start, or later where that can't be.

    None if not even the operands as they come have each head in its place.
    """
    added = tuple([view for _, view in match.added()])
    for kept in ((0, 1, 2), (1, 2), (0, 2), (0, 1), ()):
        wanted = [start if n in kept else len(paths[n]) for n, start in enumerate(starts)]
        chosen, views = _closed(wiring, match, paths, wanted, masks)
        if by_head((*views, *added), match.lead) is not None:
            break
    else:
        return None
    rest = [path[start:] for path, start in zip(paths, chosen, strict=True)]
    steps = [step for path in rest for step in path]
    return _Read(
        frozenset(step.position for step in steps),
        tuple(
            path[0].source if path else operand.name
            for path, operand in zip(rest, match.operands, strict=True)
        ),
        match.scale * prod(step.scale for step in steps if step.scale is not None),
        (*views, *added),
    )


def _proposal(
    wiring: Wiring,
    forms: dict[object, Form | None],
    match: Match,
    read: _Read,
    tail: _Tail,
    in_place: bool,
) -> Proposal | None:
    """The group of an attention with what is read in place and what follows, if there is one."""
    heads = by_head((*read.views, tail.placed), match.lead)
    if heads is None:
        return None
    sources = *read.sources, *(name for name, _ in match.added())
    names = tuple(dict.fromkeys(sources))
    terms = tuple([term._replace(name=term.name and "mask") for term in match.terms])
    asked = (
        Function(read.scale, terms, match.given, match.counts_keys, match.sinks is not None),
        tuple([_tensor(wiring, name) for name in names]),
        tuple([names.index(name) for name in sources]),
        heads,
        _tensor(wiring, tail.result),
    )
    if asked not in forms:
        forms[asked] = normal_form(*asked)
    form = forms[asked]
    if form is None:
        return None
    known = [*names, *("",) * (len(form.layer.tensors) - len(names))]
    known[form.written] = tail.result
    positions = sorted({*match.members, *tail.positions, *read.positions})
    return Proposal(tuple(positions), form, tuple(known), in_place)


def _closed(
    wiring: Wiring,
    match: Match,
    paths: Sequence[Sequence[_Step]],
    starts: Sequence[int],
    masks: set[int],
) -> tuple[list[int], list[Placed]]:
    """The starts from which on only the group reads the results, and strides say where they are.

    No layer is on one path from its start on that is before the start of another one, or that
    writes one of the masks.
    """
    chosen = list(starts)
    while True:
        while _advance(wiring, match, paths, chosen, masks):
            pass
        views: list[Placed] = []
        for number, (path, operand) in enumerate(zip(paths, match.operands, strict=True)):
            rest = path[chosen[number] :]
            view = _followed(wiring, rest, rest[0].source if rest else operand.name)
            seen = None if view is None else operand.seen(view)
            if seen is None:
                chosen[number] += 1
                break
            views.append(seen)
        else:
            return chosen, views


def _advance(
    wiring: Wiring,
    match: Match,
    paths: Sequence[Sequence[_Step]],
    chosen: list[int],
    masks: set[int],
) -> bool:
    """Moves the starts behind what can't be in the group; whether it moved any."""
    before, outside, members = tuple(chosen), set(masks), set(match.members)
    for path, start in zip(paths, chosen, strict=True):
        outside.update([step.position for step in path[:start]])
        members.update([step.position for step in path[start:]])
    closed = {
        position
        for position in members - outside
        if all(members.issuperset(readers) for readers in _readers(wiring, position))
    }
    for number, path in enumerate(paths):
        cut = len(path)
        while cut > chosen[number] and path[cut - 1].position in closed:
            cut -= 1
        # Views at the start take no time, and don't belong to the group, except between it and what
        # dequantises, which may.
        while cut < len(path) and path[cut].scale is None and _is_view(wiring, path[cut].position):
            if is_dequantised(wiring, path[cut].source):
                break
            cut += 1
        chosen[number] = cut
    return tuple(chosen) != before


def _is_view(wiring: Wiring, position: int) -> bool:
    return wiring.layers[position].kind == "view"


def _readers(wiring: Wiring, position: int) -> list[list[int]]:
    return [wiring.readers.get(name, []) for name in wiring.node(position).outputs]


def _followed(wiring: Wiring, steps: Sequence[_Step], source: str) -> Placed | None:
    view: Placed | None = whole(shape_of(wiring, source))
    for step in steps:
        if view is not None and step.scale is None:
            view = moved(wiring, step.position, step.result, view)
    return view


def _tensor(wiring: Wiring, name: str) -> Tensor:
    constant = name in wiring.graph.constants
    return Tensor(dtype_of(wiring, name), shape_of(wiring, name), constant)
