"""A model's calls, cut where enough weights have come together."""

from collections.abc import Sequence


def pieces(weights: Sequence[int], least: int) -> list[range]:
    """Calls in a row that read at least so many bytes of weights together, each call once.

    `weights` holds the bytes of each call; the last piece may have less.
    """
    found: list[range] = []
    first = size = 0
    for call, more in enumerate(weights):
        size += more
        if size >= least:
            found.append(range(first, call + 1))
            first, size = call + 1, 0
    if first < len(weights):
        found.append(range(first, len(weights)))
    return found
