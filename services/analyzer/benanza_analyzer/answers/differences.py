"""Where two ways of covering a model differ."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import networkx

from benanza_analyzer.answers.calls import Call


class Difference(NamedTuple):
    """Layers, by position, that calls of both covers together consist of, and how long they take in
    each, with layout conversions. Nothing smaller can be compared.
    """

    positions: tuple[int, ...]
    before_us: float
    after_us: float

    @property
    def saved_us(self) -> float:
        """How much less the second cover takes; negative if it takes more."""
        return self.before_us - self.after_us


def differences(before: Sequence[Call], after: Sequence[Call]) -> list[Difference]:
    """What takes another time in the second cover than in the first, the greatest saving first."""
    graph = networkx.Graph()
    for call in (*before, *after):
        networkx.add_path(graph, call.positions)
        graph.add_node(call.positions[0])
    parts = []
    of_position: dict[int, int] = {}
    for number, members in enumerate(networkx.connected_components(graph)):
        of_position |= dict.fromkeys(members, number)
        parts.append(tuple(sorted(members)))
    before_us, after_us = (_totals(calls, of_position, len(parts)) for calls in (before, after))
    compared = map(Difference, parts, before_us, after_us)
    return sorted(
        (difference for difference in compared if difference.saved_us),
        key=lambda difference: (-difference.saved_us, difference),
    )


def _totals(calls: Iterable[Call], of_position: dict[int, int], count: int) -> list[float]:
    totals = [0.0] * count
    for call in calls:
        totals[of_position[call.positions[0]]] += call.us + call.conversion_us
    return totals
