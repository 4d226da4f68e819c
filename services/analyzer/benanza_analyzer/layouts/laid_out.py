"""The cheapest cover of a model together with the layouts of its calls.

A call has feature maps in one layout, and takes another time in another. A value that is read in
another layout than it was written in is converted, once for all its readers in that layout; between
two layouts other than the first, by way of the first. What is cheapest for a part of the model
depends on the layouts around it, so that covers and layouts are chosen together.

Positions are passed from the last to the first. What is still to come depends on little of what
was chosen: which earlier positions a group covers already, and in which layouts earlier values are
wanted. One pass that keeps the cheapest choice for each such state finds the cheapest of all:
Bertelè and Brioschi, "Nonserial Dynamic Programming", 1972.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple, TypeAlias

from benanza_analyzer.layouts.places import PlacedBlocks, places_of
from benanza_analyzer.models.architecture import Architecture
from benanza_schemas.layer import Accounting

MISSING = 1 << 80
"""The cost of a layer without a time: more than any time."""

MOST_STATES = 1000
"""A pass gives up that would keep more."""

KEPT_STATES = 300
"""One that doesn't give up keeps the most promising ones."""

COMPARED_FROM = 8
"""With fewer states, to find those that others make needless takes longer than it saves."""

RIVALS = 3
"""The cheapest so many states are compared with others."""

Choice = tuple[int, int]
"""A place, as its index, and the layout of its feature maps."""

_States: TypeAlias = tuple[tuple[int, int], ...]
"""States, each with what its choices cost above those of the cheapest one."""

_Link = tuple[int, Choice | None]
"""The state before that another one comes from, by its place, and by which choice, if by one."""

_Links: TypeAlias = tuple[_Link, ...]
_State = tuple[int, _Link]
"""What the choices up to here cost, and the last one."""


class _Passed(NamedTuple):
    """How a pass went on at a position: what that depends on, and the states that came of it, with
    their links and what the cheapest of them cost more.
    """

    given: tuple[object, ...]
    found: tuple[_States, _Links, int]


class Costs(NamedTuple):
    """What the layers and groups of a model cost, by place and layout, as whole numbers.

    `times` are None where there is none in that layout; a layer without any costs `MISSING`.
    `conversions` are those of what it writes, between the first layout and each, the first being
    zero; of a view, those of what it reads, of the largest of several. A place that `reads_first`
    reads in the first layout whatever it writes in. `noted` holds, for views that alone are made of
    a value, the position of what writes it: what converting the view costs depends on that; for
    other layers it holds None. Without groups, all of this is of layers only.
    """

    times: tuple[tuple[int | None, ...], ...]
    conversions: tuple[tuple[int, ...], ...]
    reads_first: tuple[tuple[bool, ...], ...]
    noted: tuple[int | None, ...]


class LaidOut(NamedTuple):
    """Choices that cover the model. They are the cheapest if the pass was `complete`."""

    choices: list[Choice]
    complete: bool


@lru_cache(maxsize=128)
def cheapest_choices(
    model: Architecture,
    accounting: Accounting,
    costs: Costs,
    without: frozenset[int],
    *,
    gives_up: bool,
) -> tuple[int, LaidOut] | None:
    """The cost of the cheapest cover of the model with layouts, and its choices, last one first.

    What was found is remembered: a measurement changes few of a model's covers. Groups in
    `without`, as indices of places, aren't chosen. A pass that `gives_up` finds None where there
    are too many states; another one leaves some out.
    """
    places = places_of(model, accounting, len(costs.conversions[0]))
    passed = _passed(model, accounting, len(costs.conversions[0]), len(costs.times))
    passing = _Pass(places, costs, without, passed)
    states: _States = ((0, 0),)
    cost, complete = 0, True
    taken: list[_Links] = []
    for row in range(len(places.ending) - 1, -1, -1):
        states, links, more = passing.after(row, states)
        cost += more
        if gives_up and len(states) > MOST_STATES:
            return None
        if not gives_up and len(states) > KEPT_STATES:
            complete = False
            kept = passing.promising(row, states)
            states, links = tuple([states[at] for at in kept]), tuple([links[at] for at in kept])
        taken.append(links)
    at = min(range(len(states)), key=lambda at: states[at][1])
    cost += states[at][1]
    choices = []
    for links in reversed(taken):
        at, choice = links[at]
        if choice is not None:
            choices.append(choice)
    return cost, LaidOut(choices, complete)


@lru_cache(maxsize=128)
def _passed(
    model: Architecture, accounting: Accounting, layouts: int, size: int
) -> dict[int, _Passed]:
    """What the last passes over the model remember, by position. A measurement changes few places,
    and what states cost above the cheapest one is soon the same again.
    """
    return {}


class _Step(NamedTuple):
    """A place in one layout, as a choice at its last position.

    It can't be chosen where one of the `members` is covered; nor where one of the `shared` sources
    is covered by a group that doesn't give it in the layout that is `needed`. `kept` are the bits
    that it leaves as they are, and `added` those that it sets. `foreign` are those of its members
    that may cost conversions: what they cost and set is in `known`, by the bits, as far as it was
    looked for. The value is `given` to early readers in these layouts.
    """

    members: int
    shared: int
    needed: int
    foreign: int
    kept: int
    added: int
    cost: int
    place: int
    layout: int
    given: set[int]
    known: dict[int, tuple[int, int]]


class _Pass:
    """A pass over a model, whose states are bits (`places`)."""

    def __init__(
        self,
        places: PlacedBlocks,
        costs: Costs,
        without: frozenset[int],
        passed: dict[int, _Passed],
    ) -> None:
        self._places, self._costs, self._without = places, costs, without
        self._passed = passed
        bits = self._bits = places.bits
        size = len(places.ending)
        self._most = [0] * size
        """The most that converting what each position writes may cost."""
        for place, conversions in zip(places.places, costs.conversions, strict=False):
            for position in place.positions:
                self._most[position] = max(self._most[position], sum(conversions))
        converted = (position for position in range(size) if self._most[position])
        self._converted = bits.at(size - 1, converted) * bits.all_of_one
        """The bits of positions whose values have to be converted, seen from the last one."""
        self._covered = bits.at(size - 1, range(size))
        self._alone = [min(us for us in times if us is not None) for times in costs.times[:size]]

    def after(self, row: int, states: _States) -> tuple[_States, _Links, int]:
        """The states where this position is covered, too, each with where it comes from, and what
        the cheapest one cost more.
        """
        costs, places = self._costs, self._places
        here = [
            (index, costs.times[index], costs.conversions[index], costs.reads_first[index])
            for index in places.ending[row]
            if index < len(costs.times) and index not in self._without
        ]
        given = states, here, costs.noted[row], self._most[places.reached[row] : row + 1]
        passed = self._passed.get(row)
        if passed is not None and passed.given == given:
            return passed.found
        following = self._following(row, states)
        least = min(cost for cost, _ in following.values())
        found = (
            tuple([(key, cost - least) for key, (cost, _) in following.items()]),
            tuple([link for _, link in following.values()]),
            least,
        )
        self._passed[row] = _Passed(given, found)
        return found

    def _following(self, row: int, states: _States) -> dict[int, _State]:
        """The cheapest choices for each state, where this position is covered, too."""
        each = self._bits.each
        steps = list(self._steps(row))
        following: dict[int, _State] = {}
        for at, (state, cost) in enumerate(states):
            if state & 1:
                key = state >> each
                if key not in following or cost < following[key][0]:
                    following[key] = cost, (at, None)
                continue
            for step in steps:
                members, shared, needed, foreign, kept, added, more, index, layout, _, known = step
                if state & members:
                    continue
                if shared and (state & shared) << needed & ~state:
                    continue
                bits = state & foreign
                if bits not in known:
                    known[bits] = self._converted_for(step, row, bits)
                conversions, again = known[bits]
                key = (state & kept | added | again) >> each
                total = cost + more + conversions
                if key not in following or total < following[key][0]:
                    following[key] = total, (at, (index, layout))
        return (
            self._without_needless(row, following) if len(following) > COMPARED_FROM else following
        )

    def _steps(self, row: int) -> Iterator[_Step]:
        """The choices at this position."""
        bits, costs = self._bits, self._costs
        converted = self._converted >> (len(self._most) - 1 - row) * bits.each
        for index in self._places.ending[row]:
            if index >= len(costs.times) or index in self._without:
                continue
            place = self._places.places[index]
            covered, early = place.members & ~1, place.early & converted
            for layout, cost in enumerate(costs.times[index]):
                if cost is None:
                    continue
                needed = bits.wanted(0 if costs.reads_first[index][layout] else layout)
                added = covered | place.sources << needed & converted
                for given in self._given(index, layout) if early else (None,):
                    yield _Step(
                        covered,
                        place.shared & converted,
                        needed,
                        place.foreign[layout] & converted,
                        place.kept,
                        added | bits.of(early, map(bits.wanted, given)) if given else added,
                        cost,
                        index,
                        layout,
                        given or {layout},
                        {} if given else {0: (0, 0)},
                    )

    def _given(self, index: int, layout: int) -> Iterator[set[int]]:
        """The sets of layouts in which early readers may have what a group writes."""
        others = [other for other in range(self._bits.layouts) if other != layout]
        free = not any(self._costs.conversions[index])
        for size in range(len(others) if free else 0, len(others) + 1):
            for chosen in combinations(others, size):
                yield {layout, *chosen}

    def _converted_for(self, step: _Step, row: int, state: int) -> tuple[int, int]:
        """What the conversions for readers cost, and the bits that they set: a view whose source
        can note it is converted there.
        """
        bits, conversions = self._bits, self._costs.conversions[step.place]
        noted = self._costs.noted
        source = noted[step.place] if step.place < len(noted) else None
        if source is None and not any(conversions):
            return 0, 0
        members = step.members | 1
        if state and source is None and bits.layouts == 2 and not state >> bits.again(1) & members:
            return conversions[1], 0
        wanted = {j for j in range(bits.layouts) if state & members << bits.wanted(j)}
        used = [int(j in ways(step.layout, step.given | wanted)) for j in range(bits.layouts)]
        for j in range(1, bits.layouts):
            used[j] += (state >> bits.again(j) & members).bit_count()
        added = 0
        if source is not None:
            asked = [j for j, times in enumerate(used) if times]
            added = bits.of(bits.at(row, (source,)), map(bits.again, asked))
            used = [max(0, times - 1) for times in used]
        return sum(times * us for times, us in zip(used, conversions, strict=True)), added

    def _without_needless(self, row: int, states: dict[int, _State]) -> dict[int, _State]:
        """The states, seen from the position before `row`, but those that cost as much as another
        one and all conversions that the other one may need in addition.
        """
        each, whole = self._bits.each, self._bits.all_of_one
        rivals: dict[tuple[int, int], list[tuple[int, int]]] = {}
        kept = {}
        for key, state in sorted(states.items(), key=lambda item: item[1][0]):
            covered = key & self._covered
            alike = rivals.setdefault((covered, key & covered * whole), [])
            for rival, cost in alike:
                left = state[0] - cost
                more = rival & ~key
                while more and left >= 0:
                    place = ((more & -more).bit_length() - 1) // each
                    left -= self._most[row - 1 - place]
                    more &= ~(whole << place * each)
                if left >= 0:
                    break
            else:
                kept[key] = state
                if len(alike) < RIVALS:
                    alike.append((key, state[0]))
        return kept

    def promising(self, row: int, states: _States) -> list[int]:
        """The places of the states that cost least, less what the layers that they cover already
        cost alone.
        """
        each = self._bits.each

        def promise(at: int) -> int:
            key, cost = states[at]
            covered = key & self._covered
            while covered:
                place = (covered.bit_length() - 1) // each
                cost -= self._alone[row - 1 - place]
                covered &= ~(1 << place * each)
            return cost

        return sorted(range(len(states)), key=promise)[:KEPT_STATES]


def ways(layout: int, wanted: Iterable[int]) -> set[int]:
    """The layouts between which and the first one a value in `layout` is converted for readers that
    want it in these: between two others, it becomes the first one on the way.
    """
    others = {other for other in wanted if other != layout}
    return {*others, layout} - {0} if others else set()
