"""How many calls go into one replay."""

from math import ceil


def calls_for(call_us: float, replay_us: float, most: int) -> int:
    """How many calls of `call_us` microseconds together take at least `replay_us`.

    It is at least one and at most `most`. In a long replay, its start and the reading of a clock
    weigh little.
    """
    if call_us <= 0:
        return most
    return max(1, min(most, ceil(replay_us / call_us)))
