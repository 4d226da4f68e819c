"""When each layer can run: between which heavy layers.

The level of a layer is the largest number of heavy layers on a way to it. A way between two fusible
layers of one level passes no heavy layer, and no layer of another level. So the fusible layers of a
level are convex, and blocks of different levels never wait for each other in a circle.
"""

from collections import defaultdict
from collections.abc import Sequence

from benanza_ingest.groups.wiring import Wiring


class Sets:
    """Disjoint sets of positions, each named by its first one."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))

    def find(self, position: int) -> int:
        """The first position of the set with this one."""
        above = self._above
        while above[position] != position:
            above[position] = above[above[position]]
            position = above[position]
        return position

    def join(self, one: int, other: int) -> int:
        """Makes one set of two, and returns its first position."""
        first, second = self.find(one), self.find(other)
        if second < first:
            first, second = second, first
        self._above[second] = first
        return first


def levels(wiring: Wiring, is_heavy: Sequence[bool]) -> list[int]:
    """The level of each layer.

    Connected fusible layers that only one later level reads are put there: their results needn't
    be stored.
    """
    level = [0] * len(is_heavy)
    for source, target in wiring.edges:  # sorted by the source, whose own level is known by then
        level[target] = max(level[target], level[source] + is_heavy[target])
    pieces = Sets(len(is_heavy))
    for source, target in wiring.edges:
        if level[source] == level[target] and not is_heavy[source] and not is_heavy[target]:
            pieces.join(source, target)
    fixed = {pieces.find(wiring.writers[n]) for n in wiring.graph.outputs if n in wiring.writers}
    readers: dict[int, set[int]] = defaultdict(set)
    for source, target in wiring.edges:
        piece, reader = pieces.find(source), pieces.find(target)
        if is_heavy[target]:
            fixed.add(piece)
        elif piece != reader:
            readers[piece].add(reader)
    for piece in sorted(readers, key=lambda root: -level[root]):
        later = {level[reader] for reader in readers[piece]}
        if piece not in fixed and not is_heavy[piece] and len(later) == 1:
            level[piece] = later.pop()
    return [level[pieces.find(position)] for position in range(len(level))]
