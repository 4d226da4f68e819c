"""When to ask for the weights of calls to come."""

from collections.abc import Sequence


def asks(weights: Sequence[int], ahead: int, least: int) -> dict[int, range]:
    """By call, the later calls whose weights are asked for when it starts; each at most once.

    `weights` holds the bytes that each call reads. What is asked for reaches so many bytes
    `ahead` of a call, or as far as the next call. Asking waits until there are at least so
    many bytes to ask for.
    """
    found: dict[int, range] = {}
    first = following = 1
    for call in range(len(weights)):
        following = max(following, call + 1)
        reach = sum(weights[call + 1 : following])
        while following < len(weights) and (
            following == call + 1 or reach + weights[following] <= ahead
        ):
            reach += weights[following]
            following += 1
        if sum(weights[first:following]) >= least:
            found[call] = range(first, following)
            first = following
        first = max(first, call + 2)
    return found
