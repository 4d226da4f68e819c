"""Puts each node on one of two sides, so that the sum of all costs is least.

A node costs something on either side, and a pair of nodes costs something if they are on different
sides. First, each node that is best on one side, whichever sides the others are on, is put there,
and this is repeated until there is no such node. Then nodes with at most two neighbours are
eliminated one by one: the least cost of such a node, given the sides of its neighbours, becomes a
cost of these. What is left is a minimum cut. Desmet, De Maeyer, Hazes and Lasters, "The dead-end
elimination theorem and its use in protein side-chain positioning", 1992; Bertelè and Brioschi,
"Nonserial Dynamic Programming", 1972; Greig, Porteous and Seheult, "Exact maximum a posteriori
estimation for binary images", 1989.
"""

from collections.abc import Mapping
from typing import NamedTuple

import networkx
import numpy as np
import numpy.typing as npt
from networkx.algorithms.flow import boykov_kolmogorov

Whole = npt.NDArray[np.int64]

_SOURCE, _SINK = "source", "sink"
_OPEN = -1


def cheapest_sides(
    alone: Whole, on_0: Whole, on_1: Whole, pair_cost: Whole
) -> npt.NDArray[np.int8]:
    """The side of each node, 0 or 1, for which all costs together are least.

    A row of `alone` has what its node costs on either side. It costs `pair_cost` if the node in
    `on_0` is on side 0 and the one in `on_1` on side 1. The costs are whole numbers, so that sums
    are exact; those of all pairs of a node must fit into 64 bits together with its own.
    """
    alone = alone.copy()
    sides = np.full(len(alone), _OPEN, np.int8)
    while True:
        forth, back = np.zeros(len(alone), np.int64), np.zeros(len(alone), np.int64)
        np.add.at(forth, on_0, pair_cost)
        np.add.at(back, on_1, pair_cost)
        certain_0 = (sides == _OPEN) & (alone[:, 0] + forth <= alone[:, 1])
        certain_1 = (sides == _OPEN) & (alone[:, 1] + back <= alone[:, 0]) & ~certain_0
        if not certain_0.any() and not certain_1.any():
            break
        sides[certain_0], sides[certain_1] = 0, 1
        decided_0, decided_1 = sides[on_0], sides[on_1]
        pays = (decided_0 == 0) & (decided_1 == _OPEN)
        np.add.at(alone[:, 1], on_1[pays], pair_cost[pays])
        pays = (decided_1 == 1) & (decided_0 == _OPEN)
        np.add.at(alone[:, 0], on_0[pays], pair_cost[pays])
        left = (decided_0 == _OPEN) & (decided_1 == _OPEN)
        on_0, on_1, pair_cost = on_0[left], on_1[left], pair_cost[left]
    open_nodes = np.flatnonzero(sides == _OPEN)
    place = np.zeros(len(alone), np.int64)
    place[open_nodes] = np.arange(len(open_nodes))
    rest = _Rest(alone[open_nodes].tolist())
    for edge in zip(place[on_0].tolist(), place[on_1].tolist(), pair_cost.tolist(), strict=True):
        rest.add_pair_cost(*edge)
    sides[open_nodes] = rest.sides()
    return sides


class _Rest:
    """Nodes whose side depends on others, with what each costs on either side."""

    def __init__(self, alone: list[list[int]]) -> None:
        self._alone = alone
        self._pair_costs: list[dict[int, list[int]]] = [{} for _ in alone]

    def add_pair_cost(self, node: int, other: int, cost: int) -> None:
        """It costs so much if the node is on side 0 and the other one on side 1."""
        self._edge(node, other, cost, 0)

    def sides(self) -> list[int]:
        """The side of each node."""
        eliminated = self._eliminate()
        gone = {elimination.node for elimination in eliminated}
        sides = self._cut([node for node in range(len(self._alone)) if node not in gone])
        for elimination in reversed(eliminated):
            sides[elimination.node] = elimination.best(sides)
        return [sides[node] for node in range(len(self._alone))]

    def _add(self, node: int, on_0: int, on_1: int) -> None:
        self._alone[node][0] += on_0
        self._alone[node][1] += on_1

    def _edge(self, node: int, other: int, forth: int, back: int) -> None:
        """Costs if the node is on side 0 and the other on side 1, and the other way round."""
        for one, two, costs in ((node, other, (forth, back)), (other, node, (back, forth))):
            known = self._pair_costs[one].setdefault(two, [0, 0])
            known[0] += costs[0]
            known[1] += costs[1]

    def _eliminate(self) -> list["_Eliminated"]:
        eliminated = []
        gone = [False] * len(self._alone)
        pending = list(range(len(self._alone)))
        while pending:
            node = pending.pop()
            if gone[node] or len(self._pair_costs[node]) > 2:
                continue
            gone[node] = True
            elimination = _Eliminated(node, tuple(self._alone[node]), self._pair_costs[node])
            eliminated.append(elimination)
            for other in elimination.pair_costs:
                del self._pair_costs[other][node]
            if len(elimination.pair_costs) == 1:
                (other,) = elimination.pair_costs
                self._add(other, *(elimination.cost({other: side}) for side in (0, 1)))
            elif elimination.pair_costs:
                one, two = elimination.pair_costs
                self._join(one, two, elimination)
            pending.extend(elimination.pair_costs)
        return eliminated

    def _join(self, one: int, two: int, between: "_Eliminated") -> None:
        """Adds the cost of a node between two others, which is submodular, to theirs."""
        cost = {(a, b): between.cost({one: a, two: b}) for a in (0, 1) for b in (0, 1)}
        self._add(one, cost[0, 0], cost[1, 0])
        self._add(two, 0, cost[1, 1] - cost[1, 0])
        pair_cost = cost[0, 1] + cost[1, 0] - cost[0, 0] - cost[1, 1]
        self._edge(one, two, pair_cost, 0)

    def _cut(self, nodes: list[int]) -> dict[int, int]:
        if not nodes:
            return {}
        graph = networkx.DiGraph()
        graph.add_nodes_from((_SOURCE, _SINK))
        for node in nodes:
            on_0, on_1 = self._alone[node]
            least = min(on_0, on_1)
            graph.add_edge(node, _SINK, capacity=on_0 - least)
            graph.add_edge(_SOURCE, node, capacity=on_1 - least)
            for other, (forth, _) in self._pair_costs[node].items():
                graph.add_edge(node, other, capacity=forth)
        _, (on_0_side, _) = networkx.minimum_cut(graph, _SOURCE, _SINK, flow_func=boykov_kolmogorov)
        return {node: 0 if node in on_0_side else 1 for node in nodes}


class _Eliminated(NamedTuple):
    """A node with its own costs, and those of being apart from its neighbours."""

    node: int
    alone: tuple[int, ...]
    pair_costs: Mapping[int, list[int]]

    def cost(self, sides: Mapping[int, int]) -> int:
        """The least cost, where its neighbours are on these sides."""
        return min(self._on(0, sides), self._on(1, sides))

    def best(self, sides: Mapping[int, int]) -> int:
        """The side on which it costs least then."""
        return 0 if self._on(0, sides) <= self._on(1, sides) else 1

    def _on(self, side: int, sides: Mapping[int, int]) -> int:
        total = self.alone[side]
        for other, costs in self.pair_costs.items():
            if sides[other] != side:
                total += costs[side]
        return total
