"""The critical path: the longest path through a model's graph, by time."""

from collections.abc import Sequence


def critical_path(
    sources: Sequence[int], targets: Sequence[int], times_us: Sequence[float]
) -> list[int]:
    """The path that takes longest, from its first node that takes time to its last.

    The graph's nodes are positions, `times_us` what each takes; a node that takes no time
    still connects those before it with those after it. Its edges lead from `sources`,
    ascending, to `targets`, each of them later than its source.

    Returns the path's nodes in order; none if nothing takes time. Of several longest paths it
    is always the same one.
    """
    finishes = list(times_us)
    before = [-1] * len(finishes)
    # When an edge's turn comes, all edges into its source are done: they begin earlier.
    for source, target in zip(sources, targets, strict=True):
        finish = finishes[source] + times_us[target]
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
