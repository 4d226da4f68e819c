"""The critical path: the longest path through a model's graph, by time."""

from collections.abc import Sequence


def critical_path(
    sources: Sequence[int],
    targets: Sequence[int],
    between_us: Sequence[float],
    times_us: Sequence[float],
) -> list[int]:
    """The nodes of the longest path, in order; none if nothing takes time.

    The graph's nodes are positions with times of `times_us`; a node without time still connects
    its predecessors with its successors. Edges lead from `sources` to `targets` and take
    `between_us`; they come in a topological order of their sources. Times are in microseconds. Of
    several longest paths, the same one is always returned.
    """
    finishes = list(times_us)
    before = [-1] * len(finishes)
    # When an edge's turn comes, all edges into its source are done: they come earlier.
    for source, target, edge_us in zip(sources, targets, between_us, strict=True):
        finish = finishes[source] + edge_us + times_us[target]
        if finish > finishes[target]:
            finishes[target] = finish
            before[target] = source
    longest = max(finishes, default=0.0)
    if longest == 0.0:
        return []
    path = []
    node = finishes.index(longest)
    while node >= 0:
        path.append(node)
        node = before[node]
    return path[::-1]
