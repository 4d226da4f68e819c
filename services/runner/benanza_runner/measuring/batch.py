"""How many calls go into one replay."""

from math import ceil


def calls_for(call_us: float, replay_us: float, most: int) -> int:
    """Calls that together take at least `replay_us`, so that starting a replay and reading a
    clock weigh little; at least one, at most `most`.
    """
    if call_us <= 0:
        return most
    return max(1, min(most, ceil(replay_us / call_us)))
