"""How many calls go into one replay, and how many copies of the buffers a cold one rotates."""

from math import ceil

CACHES = 5
"""Buffers that together are so many times the cache have left it when their turn comes again."""


def calls_for(call_us: float, replay_us: float, most: int) -> int:
    """Calls that together take at least `replay_us`, so that starting a replay and reading a
    clock weigh little; at least one, at most `most`.
    """
    if call_us <= 0:
        return most
    return max(1, min(most, ceil(replay_us / call_us)))


def copies_for(buffer_bytes: int, cache_bytes: int, free_bytes: int) -> int | None:
    """Copies of the buffers that a cold timing rotates over, or None if they don't fit.

    Together they take `CACHES` times the cache, and at most half of what is free.
    """
    if buffer_bytes <= 0:
        return None
    copies = max(2, ceil(CACHES * cache_bytes / buffer_bytes))
    return copies if copies * buffer_bytes <= free_bytes // 2 else None
