"""The layouts of a model's calls for which calls and layout conversions take the least time.

A call takes one time with channels first and another with channels last. A value that is read in
another layout than it was written in is converted, once for all its readers. So each call is on
one of two sides, and it costs something to be apart. Values with several readers are modelled as in
Kohli, Ladický and Torr, "Robust higher order potentials for enforcing label consistency", 2009.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from benanza_analyzer.two_sides import NEVER, TwoSides

PICOSECONDS = 1e6
"""In a microsecond. Costs are whole picoseconds: with floats a cut may not terminate."""


def channels_last(
    first_us: Sequence[float],
    last_us: Sequence[float],
    conversion_us: Sequence[float],
    edges: Iterable[tuple[int, int]],
) -> list[bool]:
    """For each call, whether it has channels last.

    `first_us` and `last_us` are the calls' times with channels first and last, in microseconds;
    infinite where a call doesn't support the layout, which is at most one of the two.
    `conversion_us` is the time of converting what each call writes. `edges` lead from a call to
    its readers.
    """
    costs = [(_whole(first), _whole(last)) for first, last in zip(first_us, last_us, strict=True)]
    if all(first <= last for first, last in costs):
        return [False] * len(costs)
    if all(last <= first for first, last in costs):
        return [True] * len(costs)
    problem = TwoSides(len(costs))
    for call, (first, last) in enumerate(costs):
        problem.add(call, first, last)
    for call, readers in _readers(edges).items():
        if conversion_us[call] > 0:
            _add_value(problem, call, readers, _whole(conversion_us[call]))
    # Side 0 is channels first.
    return [bool(side) for side in problem.sides()[: len(costs)]]


def _whole(us: float) -> int:
    """Whole picoseconds."""
    return NEVER if us == float("inf") else round(us * PICOSECONDS)


def conversions_us(
    last: Sequence[bool], conversion_us: Sequence[float], edges: Iterable[tuple[int, int]]
) -> list[float]:
    """The time of converting what each call writes, in microseconds; zero unless a reader has the
    other layout.

    `last` says for each call whether it has channels last; the rest is as for `channels_last`.
    """
    found = [0.0] * len(last)
    for call, reader in edges:
        if last[call] != last[reader]:
            found[call] = conversion_us[call]
    return found


def _readers(edges: Iterable[tuple[int, int]]) -> Mapping[int, list[int]]:
    readers: dict[int, list[int]] = defaultdict(list)
    for call, reader in edges:
        readers[call].append(reader)
    return readers


def _add_value(problem: TwoSides, call: int, readers: Sequence[int], cost: int) -> None:
    """A value that is converted if any of its readers is on the other side than its writer."""
    if len(readers) == 1:
        problem.add_apart(call, readers[0], cost)
        problem.add_apart(readers[0], call, cost)
    else:
        # One node is on the last side if any reader is, the other one on the first side likewise.
        any_last, any_first = problem.node(), problem.node()
        problem.add_apart(call, any_last, cost)
        problem.add_apart(any_first, call, cost)
        for reader in readers:
            problem.add_apart(any_last, reader, NEVER)
            problem.add_apart(reader, any_first, NEVER)
