"""The post-dominator tree of a model's groups: what makes the cheapest cover easy to find.

A layer's nearest post-dominator is the first later layer that every path from it comes by.
Inside a group all paths lead to the group's last layer, so the nearest post-dominator of any
other of its layers is in the group as well. With each layer below its nearest post-dominator,
layers make trees, and every group is a connected part of a tree with its last layer on top.
"""

from collections.abc import Iterable, Sequence


def nearest_post_dominators(
    groups: Iterable[tuple[int, ...]], readers: Sequence[Sequence[int]]
) -> dict[int, int]:
    """The nearest post-dominator of each position that is in a group and not its last.

    `groups` hold positions, ascending, and are closed as `model_check` asks for; `readers`
    holds for each position those that read it, all of them later.
    """
    above: dict[int, int] = {}
    inside = {position for group in groups for position in group[:-1]}
    for position in sorted(inside, reverse=True):
        meeting, *others = readers[position]
        for reader in others:
            # Up from both until they meet. They do so inside the group, below or at its last.
            while meeting != reader:
                if meeting < reader:
                    meeting = above[meeting]
                else:
                    reader = above[reader]
        above[position] = meeting
    return above
