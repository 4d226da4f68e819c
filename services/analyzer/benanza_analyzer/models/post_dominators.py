"""The post-dominator tree of a model's groups, in which the cheapest cover is easy to find.

A layer's nearest post-dominator is the first later layer that is on every path from it. Inside a
group all paths lead to the group's last layer, so the nearest post-dominator of any other layer of
the group is in the group as well. With the nearest post-dominator as its parent, each layer is in
a tree, and every group is a connected part of a tree with its last layer on top.
"""

from collections.abc import Iterable, Sequence


def nearest_post_dominators(
    groups: Iterable[tuple[int, ...]], readers: Sequence[Sequence[int]]
) -> dict[int, int]:
    """The nearest post-dominator of each position that is in a group but not the group's last.

    `groups` hold positions, ascending, and are closed as `model_check` requires. `readers` holds
    for each position the positions that read it, all of them later.
    """
    above: dict[int, int] = {}
    inside = {position for group in groups for position in group[:-1]}
    for position in sorted(inside, reverse=True):
        meeting, *others = readers[position]
        for reader in others:
            # Go up from both until they meet, inside the group, at its last layer or before.
            while meeting != reader:
                if meeting < reader:
                    meeting = above[meeting]
                else:
                    reader = above[reader]
        above[position] = meeting
    return above
