"""Which faults happen, and when: the same ones for the same seed."""

import random
from collections.abc import Iterable
from signal import SIGKILL, SIGTERM, Signals
from typing import NamedTuple

from benanza_schemas.consumer_groups import SINK

BROKER, CLICKHOUSE = "broker", "clickhouse"
SERVICES = ("ingest", "dedupe", "runner", "analyzer")
COPIES = 2
TARGETS = (BROKER, CLICKHOUSE, *(f"{s}-{copy}" for copy in range(1, COPIES + 1) for s in SERVICES))
"""Every process that there is: two of each service."""

ALL = "all"
"""All of them at the same moment, as where a machine loses its power; they start together."""

KINDS = [*((target, how) for target in TARGETS for how in (SIGKILL, SIGTERM)), (ALL, SIGKILL)]

GAP_S = (1.0, 8.0)
"""Between two faults: so short that a process is often hit while others are still away."""

AWAY_S = {BROKER: (0.0, 6.0), CLICKHOUSE: (1.0, 12.0)}
AWAY_SERVICE_S = (0.0, 8.0)
AWAY_SECOND_S = (5.0, 25.0)
"""The second copy of a service is gone for longer, so that the first one is often alone."""


class Fault(NamedTuple):
    """`at_s` seconds after the first event, `target` gets a signal; it is away for `away_s`."""

    at_s: float
    target: str
    how: Signals
    away_s: float

    def __str__(self) -> str:
        back = f"back after {self.away_s:.1f} s" if self.away_s else "back at once"
        return f"{self.how.name} {self.target}, {back}"

    def kind(self) -> str:
        """The signal and what it befalls, whichever copy that is."""
        return f"{self.how.name} {self.target.partition('-')[0]}"


def schedule(count: int, seed: int) -> list[Fault]:
    """That many faults. No process gets a signal again before each has got each signal, and all at
    once have been killed."""
    rng = random.Random(seed)
    deck: list[tuple[str, Signals]] = []
    faults = []
    at_s = 0.0
    for _ in range(count):
        if not deck:
            deck = KINDS.copy()
            rng.shuffle(deck)
        target, how = deck.pop()
        at_s += rng.uniform(*GAP_S)
        faults.append(Fault(at_s, target, how, _away_s(target, rng)))
    return faults


def _away_s(target: str, rng: random.Random) -> float:
    if target in AWAY_S:
        return rng.uniform(*AWAY_S[target])
    if target == ALL or target.endswith("-1"):
        return rng.choice((0.0, rng.uniform(*AWAY_SERVICE_S)))
    return rng.uniform(*AWAY_SECOND_S)


def kinds(faults: Iterable[Fault]) -> dict[str, int]:
    """How many there are of each kind."""
    names = [fault.kind() for fault in faults]
    return {name: names.count(name) for name in sorted(set(names))}


def concerns(fault: Fault, service: str) -> bool:
    """Whether the service's own process, or what it stands on, is the target."""
    own = "analyzer" if service == SINK else service  # The sink is a part of it.
    stands_on = (BROKER, CLICKHOUSE) if service == SINK else (BROKER,)
    return fault.target.partition("-")[0] in (ALL, own, *stands_on)
