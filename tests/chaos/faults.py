"""Which faults happen, and when: the same ones for the same seed."""

import random
from collections.abc import Sequence
from typing import NamedTuple

BROKER, CLICKHOUSE = "broker", "clickhouse"
KILL, STOP = "SIGKILL", "SIGTERM"


class Fault(NamedTuple):
    """`after_s` seconds after the one before, `target` ends by `how` and is away for `away_s`."""

    after_s: float
    target: str
    how: str
    away_s: float

    def __str__(self) -> str:
        return f"{self.how} {self.target}, away for {self.away_s:.1f} s"


def schedule(services: Sequence[str], count: int, seed: int) -> list[Fault]:
    """Most faults befall services; one in six the broker or ClickHouse."""
    rng = random.Random(seed)
    faults = []
    for _ in range(count):
        target = rng.choice((BROKER, CLICKHOUSE)) if rng.random() < 1 / 6 else rng.choice(services)
        away_s = rng.uniform(1, 5) if target == CLICKHOUSE else rng.choice((0, rng.uniform(0, 2)))
        faults.append(Fault(rng.uniform(0.2, 2), target, rng.choice((KILL, STOP)), away_s))
    return faults
