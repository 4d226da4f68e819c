"""The faults of a campaign: the same ones of each seed."""

import random
from enum import StrEnum
from typing import NamedTuple


class How(StrEnum):
    """What befalls a process: it is killed, stopped for a while, or told to end."""

    KILLED = "killed"
    PAUSED = "paused"
    RESTARTED = "restarted"


BROKER = "broker"


class Fault(NamedTuple):
    """What befalls whom, so many seconds after the one before, and for how long: until it is
    started again, or goes on.
    """

    target: str
    how: How
    after_s: float
    for_s: float


LONG_S = 14.0
"""A pause in which an agent's session with the broker runs out."""


def scheduled(agents: list[str], number: int, seed: int) -> list[Fault]:
    """So many, of which every kind comes before any comes twice."""
    chance = random.Random(seed)
    kinds = [(name, how) for name in agents for how in How] + [(BROKER, How.PAUSED)]
    found: list[Fault] = []
    while len(found) < number:
        chance.shuffle(kinds)
        for target, how in kinds:
            long = how == How.PAUSED and target != BROKER and chance.random() < 0.5
            for_s = LONG_S if long else chance.uniform(0.1, 3.0)
            found.append(Fault(target, how, chance.uniform(0.2, 4.0), for_s))
    return found[:number]
