"""The critical path: the longest path through a model's graph, by time."""

from collections.abc import Sequence


def critical_path(
    sources: Sequence[int],
    targets: Sequence[int],
    between_us: Sequence[float],
    times_us: Sequence[float],
) -> list[int]:
    """The path that takes longest, from the first that takes time on it to the last.

    The graph's nodes are positions, `times_us` what each takes; a node that takes no time
    still connects those before it with those after it. Its edges lead from `sources`,
    ascending, to `targets`, each of them later than its source, and take `between_us`.

    Returns the path's nodes in order; none if nothing takes time. Of several longest paths it
    is always the same one.
    """
    finishes = list(times_us)
    before = [-1] * len(finishes)
    # When an edge's turn comes, all edges into its source are done: they begin earlier.
    for source, target, edge_us in zip(sources, targets, between_us, strict=True):
        finish = finishes[source] + edge_us + times_us[target]
        if finish > finishes[target]:
            finishes[target] = finish
            before[target] = source
    longest = max(finishes, default=0.0)
    if longest == 0.0:
        return []
    path = []
    at = finishes.index(longest)
    while at >= 0:
        path.append(at)
        at = before[at]
    return path[::-1]
