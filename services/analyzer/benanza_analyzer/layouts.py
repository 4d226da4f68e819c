"""The layouts of a model's calls for which calls and layout conversions take the least time.

A call takes one time with channels first and another with channels last. A value that is read in
another layout than it was written in is converted, once for all its readers. The best layouts are
a minimum cut: the calls on the source's side have channels first. Greig, Porteous and Seheult,
"Exact maximum a posteriori estimation for binary images", 1989; values with several readers are
modelled as in Kohli, Ladický and Torr, "Robust higher order potentials for enforcing label
consistency", 2009.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import networkx
from networkx.algorithms.flow import boykov_kolmogorov

PICOSECONDS = 1e6
"""In a microsecond. The cut counts whole picoseconds: with floats it may not terminate."""

FIRST_SIDE, LAST_SIDE = "channels first", "channels last"


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
    times = [*zip(first_us, last_us, strict=True)]
    if all(first <= last for first, last in times):
        return [False] * len(times)
    if all(last <= first for first, last in times):
        return [True] * len(times)
    graph = networkx.DiGraph()
    graph.add_nodes_from((FIRST_SIDE, LAST_SIDE))
    for call, (first, last) in enumerate(times):
        least = min(first, last)
        _add(graph, call, LAST_SIDE, first - least)
        _add(graph, FIRST_SIDE, call, last - least)
    for call, readers in _readers(edges).items():
        _add_value(graph, call, readers, conversion_us[call])
    _, (on_first_side, _) = networkx.minimum_cut(
        graph, FIRST_SIDE, LAST_SIDE, flow_func=boykov_kolmogorov
    )
    return [call not in on_first_side for call in range(len(times))]


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


def _add_value(
    graph: networkx.DiGraph, call: int, readers: Sequence[int], conversion_us: float
) -> None:
    """A value that is converted if any of its readers is on the other side than its writer."""
    if len(readers) == 1:
        _add(graph, call, readers[0], conversion_us)
        _add(graph, readers[0], call, conversion_us)
        return
    # One node is on the last side if any reader is, the other one on the first side likewise.
    any_last, any_first = ("any last", call), ("any first", call)
    _add(graph, call, any_last, conversion_us)
    _add(graph, any_first, call, conversion_us)
    for reader in readers:
        graph.add_edge(any_last, reader)
        graph.add_edge(reader, any_first)


def _add(graph: networkx.DiGraph, source: object, target: object, us: float) -> None:
    """An edge that costs so much to cut; it can't be cut where that is infinite."""
    if us == float("inf"):
        graph.add_edge(source, target)
    elif us > 0:
        graph.add_edge(source, target, capacity=round(us * PICOSECONDS))
