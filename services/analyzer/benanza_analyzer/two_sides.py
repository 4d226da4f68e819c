"""Which of two sides each node is best on, if it costs something to be on either and to be apart.

Nodes are eliminated one by one: those that are best on one side wherever their neighbours are, and
those with at most two neighbours. The least cost of such a node, given the sides of its neighbours,
becomes a cost of these. What is left is a minimum cut. Bertelè and Brioschi, "Nonserial Dynamic
Programming", 1972; Desmet, De Maeyer, Hazes and Lasters, "The dead-end elimination theorem and its
use in protein side-chain positioning", 1992; Greig, Porteous and Seheult, "Exact maximum a
posteriori estimation for binary images", 1989.
"""

from collections.abc import Mapping
from typing import NamedTuple

import networkx
from networkx.algorithms.flow import boykov_kolmogorov

NEVER = 10**24
"""A cost above all others; costs are whole numbers, so that sums with it stay exact."""

_SOURCE, _SINK = "source", "sink"


class TwoSides:
    """Nodes are numbers from 0, and sides 0 and 1."""

    def __init__(self, count: int) -> None:
        self._alone = [[0, 0] for _ in range(count)]
        self._apart: list[dict[int, list[int]]] = [{} for _ in range(count)]

    def node(self) -> int:
        """A further node."""
        self._alone.append([0, 0])
        self._apart.append({})
        return len(self._alone) - 1

    def add(self, node: int, on_0: int, on_1: int) -> None:
        """The node costs so much on either side, in addition to what it did."""
        self._alone[node][0] += on_0
        self._alone[node][1] += on_1

    def add_apart(self, node: int, other: int, cost: int) -> None:
        """It costs so much if the node is on side 0 and the other one on side 1."""
        self._edge(node, other, cost, 0)

    def sides(self) -> list[int]:
        """The side of each node for which all costs together are least."""
        eliminated = self._eliminate()
        gone = {each.node for each in eliminated}
        sides = self._cut([node for node in range(len(self._alone)) if node not in gone])
        for each in reversed(eliminated):
            sides[each.node] = each.best(sides)
        return [sides[node] for node in range(len(self._alone))]

    def _edge(self, node: int, other: int, forth: int, back: int) -> None:
        """Costs if the node is on side 0 and the other on side 1, and the other way round."""
        for one, two, costs in ((node, other, (forth, back)), (other, node, (back, forth))):
            known = self._apart[one].setdefault(two, [0, 0])
            known[0] += costs[0]
            known[1] += costs[1]

    def _eliminate(self) -> list["_Eliminated"]:
        found = []
        gone = [False] * len(self._alone)
        pending = list(range(len(self._alone)))
        while pending:
            node = pending.pop()
            if gone[node]:
                continue
            each = _Eliminated(node, tuple(self._alone[node]), self._apart[node])
            side = each.certain() if len(each.apart) > 2 else None
            if side is None and len(each.apart) > 2:
                continue
            gone[node] = True
            found.append(each)
            for other in each.apart:
                del self._apart[other][node]
            if side is not None:
                for other, costs in each.apart.items():
                    self.add(other, *((0, costs[0]) if side == 0 else (costs[1], 0)))
            elif len(each.apart) == 1:
                (other,) = each.apart
                self.add(other, *(each.cost({other: side}) for side in (0, 1)))
            elif each.apart:
                one, two = each.apart
                self._join(one, two, each)
            pending.extend(each.apart)
        return found

    def _join(self, one: int, two: int, between: "_Eliminated") -> None:
        """Adds the cost of a node between two others, which is submodular, to theirs."""
        cost = {(a, b): between.cost({one: a, two: b}) for a in (0, 1) for b in (0, 1)}
        self.add(one, cost[0, 0], cost[1, 0])
        self.add(two, 0, cost[1, 1] - cost[1, 0])
        apart = cost[0, 1] + cost[1, 0] - cost[0, 0] - cost[1, 1]
        self._edge(one, two, apart, 0)

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
            for other, (forth, _) in self._apart[node].items():
                graph.add_edge(node, other, capacity=forth)
        _, (on_0_side, _) = networkx.minimum_cut(graph, _SOURCE, _SINK, flow_func=boykov_kolmogorov)
        return {node: 0 if node in on_0_side else 1 for node in nodes}


class _Eliminated(NamedTuple):
    """A node with its own costs, and those of being apart from its neighbours."""

    node: int
    alone: tuple[int, ...]
    apart: Mapping[int, list[int]]

    def certain(self) -> int | None:
        """The side on which it costs less wherever its neighbours are; None if that depends."""
        forth, back = (sum(costs[side] for costs in self.apart.values()) for side in (0, 1))
        if self.alone[0] + forth < self.alone[1]:
            return 0
        return 1 if self.alone[1] + back < self.alone[0] else None

    def cost(self, sides: Mapping[int, int]) -> int:
        """The least cost, where its neighbours are on these sides."""
        return min(self._on(0, sides), self._on(1, sides))

    def best(self, sides: Mapping[int, int]) -> int:
        """The side on which it costs least then."""
        return 0 if self._on(0, sides) <= self._on(1, sides) else 1

    def _on(self, side: int, sides: Mapping[int, int]) -> int:
        total = self.alone[side]
        for other, costs in self.apart.items():
            if sides[other] != side:
                total += costs[side]
        return total
