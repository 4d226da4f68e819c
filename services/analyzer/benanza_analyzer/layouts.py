"""In which layout each call of a model keeps its images, so that all takes the least time.

A call takes one time with channels first and another with channels last, and whoever reads a
value in the other layout than it was written in has it turned before: once, however many read
it so. Which calls had better go which way is a minimum cut: those on the source's side keep
channels first. Greig, Porteous and Seheult, "Exact maximum a posteriori estimation for binary
images", 1989; values with several readers are as in Kohli, Ladický and Torr, "Robust higher
order potentials for enforcing label consistency", 2009.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import networkx
from networkx.algorithms.flow import boykov_kolmogorov

PICOSECONDS = 1e6
"""Of a microsecond. The cut counts in whole ones: sums of floats may never come to an end."""

FIRST_SIDE, LAST_SIDE = "channels first", "channels last"


def channels_last(
    first_us: Sequence[float],
    last_us: Sequence[float],
    turning_us: Sequence[float],
    edges: Iterable[tuple[int, int]],
) -> list[bool]:
    """For each call, in any order, whether it keeps its images with channels last.

    A call that can't is infinitely long; each can do one of the two. `turning_us` is what
    turning takes that which a call writes, and `edges` lead from calls to those that read it.
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
        _add_value(graph, call, readers, turning_us[call])
    _, (on_first_side, _) = networkx.minimum_cut(
        graph, FIRST_SIDE, LAST_SIDE, flow_func=boykov_kolmogorov
    )
    return [call not in on_first_side for call in range(len(times))]


def turned(
    last: Sequence[bool], turning_us: Sequence[float], edges: Iterable[tuple[int, int]]
) -> list[float]:
    """What turning takes that which each call writes, if anyone reads it in the other layout."""
    found = [0.0] * len(last)
    for call, reader in edges:
        if last[call] != last[reader]:
            found[call] = turning_us[call]
    return found


def _readers(edges: Iterable[tuple[int, int]]) -> Mapping[int, list[int]]:
    readers: dict[int, list[int]] = defaultdict(list)
    for call, reader in edges:
        readers[call].append(reader)
    return readers


def _add_value(
    graph: networkx.DiGraph, call: int, readers: Sequence[int], turning_us: float
) -> None:
    """A value that is turned if any of its readers is on the other side than its maker."""
    if len(readers) == 1:
        _add(graph, call, readers[0], turning_us)
        _add(graph, readers[0], call, turning_us)
        return
    # One node is on the last side as soon as any reader is, another on the first side likewise.
    any_last, any_first = ("any last", call), ("any first", call)
    _add(graph, call, any_last, turning_us)
    _add(graph, any_first, call, turning_us)
    for reader in readers:
        graph.add_edge(any_last, reader)
        graph.add_edge(reader, any_first)


def _add(graph: networkx.DiGraph, source: object, target: object, us: float) -> None:
    """An edge that costs so much to cut; without a capacity it can't be."""
    if us == float("inf"):
        graph.add_edge(source, target)
    elif us > 0:
        graph.add_edge(source, target, capacity=round(us * PICOSECONDS))
