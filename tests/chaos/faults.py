"""Which faults happen, and when: the same ones for the same seed."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from benanza_schemas.consumer_groups import SINK

BROKER, CLICKHOUSE = "broker", "clickhouse"
SERVICES = ("ingest", "dedupe", "runner", "analyzer")
COPIES = ("1", "2")
PROCESSES = (BROKER, CLICKHOUSE, *(f"{service}-{copy}" for copy in COPIES for service in SERVICES))
"""Every process that there is: two of each service."""

MACHINES = tuple(f"machine-{copy}" for copy in COPIES)
"""One copy of each service shares a disk and a clock."""

ALL = "all"
"""All of them at the same moment, as where a machine loses its power; they start together."""


class How(StrEnum):
    """What a fault is. The first two end processes; all others pass, and processes go on."""

    KILLED = "SIGKILL"
    ASKED_TO_END = "SIGTERM"
    AWAY_LONG = "long outage"
    STOPPED = "SIGSTOP"
    SLOW = "slow"
    DISK_FULL = "full disk"
    CLOCK_JUMPS = "clock jump"


ENDS = (How.KILLED, How.ASKED_TO_END, How.AWAY_LONG)
"""After these a process is started anew."""

KINDS = [
    *((target, how) for target in PROCESSES for how in (How.KILLED, How.ASKED_TO_END, How.STOPPED)),
    (ALL, How.KILLED),
    (BROKER, How.SLOW),
    (CLICKHOUSE, How.AWAY_LONG),
    *((target, How.DISK_FULL) for target in (BROKER, CLICKHOUSE, *MACHINES)),
    *((target, How.CLOCK_JUMPS) for target in MACHINES),
]

GAP_S = (1.0, 8.0)
"""Between two faults: so short that a process is often hit while others are still away."""

AWAY_S = {BROKER: (0.0, 6.0), CLICKHOUSE: (1.0, 12.0)}
AWAY_SERVICE_S = (0.0, 8.0)
AWAY_SECOND_S = (5.0, 25.0)
"""The second copy of a service is gone for longer, so that the first one is often alone."""

AWAY_GAPS = {
    How.AWAY_LONG: (2.0, 8.0),
    How.STOPPED: (0.4, 5.0),
    How.SLOW: (1.5, 4.0),
    How.DISK_FULL: (1.0, 5.0),
    How.CLOCK_JUMPS: (1.0, 6.0),
}
"""How long these last, in mean gaps between faults: with 14 s between them, up to a minute."""

JUMPS_S = (1.0, 50_000.0)
"""How far a clock jumps, back or forward; small jumps are as frequent as large ones."""


class Fault(NamedTuple):
    """`at_s` seconds after the first event something befalls `target`, for `away_s`; a clock is
    `shift_s` ahead for so long.
    """

    at_s: float
    target: str
    how: How
    away_s: float
    shift_s: float = 0.0

    def __str__(self) -> str:
        if self.how not in ENDS:
            by = f" by {self.shift_s:+.0f} s" if self.shift_s else ""
            return f"{self.how} {self.target}{by}, for {self.away_s:.1f} s"
        back = f"back after {self.away_s:.1f} s" if self.away_s else "back at once"
        return f"{self.how} {self.target}, {back}"

    def kind(self) -> str:
        """What happens, and what it befalls, whichever copy that is."""
        return f"{self.how} {_kind_of(self.target)}"


def schedule(
    count: int, seed: int, over_s: float | None = None, without: Sequence[How] = ()
) -> list[Fault]:
    """That many faults, within about `over_s` seconds; none is one of `without`.

    No process gets the same again before each has got all that can befall it. Of the copies one
    is hit before any second one is.
    """
    rng = random.Random(seed)
    stretched = 1.0 if over_s is None else over_s / (count * sum(GAP_S) / 2)
    kinds_left = [kind for kind in KINDS if kind[1] not in without]
    deck: list[tuple[str, How]] = []
    faults = []
    at_s = 0.0
    for _ in range(count):
        if not deck:
            deck = _shuffled(kinds_left, rng)
        target, how = deck.pop()
        at_s += stretched * rng.uniform(*GAP_S)
        away_s = _away_s(target, how, stretched * sum(GAP_S) / 2, rng)
        shift_s = _jump_s(rng) if how == How.CLOCK_JUMPS else 0.0
        faults.append(Fault(at_s, target, how, away_s, shift_s))
    return faults


def _shuffled(deck: Sequence[tuple[str, How]], rng: random.Random) -> list[tuple[str, How]]:
    """Drawn from the end: first what befalls a copy of each service, then the other copies."""
    shuffled = rng.sample(deck, len(deck))
    before: Counter[tuple[str, How]] = Counter()
    firsts: list[tuple[str, How]] = []
    seconds: list[tuple[str, How]] = []
    for target, how in shuffled:
        kind = _kind_of(target), how
        (seconds if before[kind] else firsts).append((target, how))
        before[kind] += 1
    return seconds + firsts


def _away_s(target: str, how: How, gap_s: float, rng: random.Random) -> float:
    if how in AWAY_GAPS:
        return gap_s * rng.uniform(*AWAY_GAPS[how])
    if target in AWAY_S:
        return rng.uniform(*AWAY_S[target])
    if target == ALL or target.endswith("-1"):
        return rng.choice((0.0, rng.uniform(*AWAY_SERVICE_S)))
    return rng.uniform(*AWAY_SECOND_S)


def _jump_s(rng: random.Random) -> float:
    least, most = JUMPS_S
    far = math.exp(rng.uniform(math.log(least), math.log(most)))
    return rng.choice((-far, far))


def _kind_of(target: str) -> str:
    return target.partition("-")[0]


def kinds(faults: Iterable[Fault]) -> dict[str, int]:
    """How many there are of each kind."""
    return dict(sorted(Counter(fault.kind() for fault in faults).items()))


def concerns(fault: Fault, service: str) -> bool:
    """Whether the service's own process, or what it stands on, is the target."""
    own = "analyzer" if service == SINK else service  # The sink is a part of it.
    stands_on = (BROKER, CLICKHOUSE) if service == SINK else (BROKER,)
    return _kind_of(fault.target) in (ALL, "machine", own, *stands_on)


def may_end(fault: Fault, process: str) -> bool:
    """Whether a process may end by itself for this fault, and has to be started again.

    One that was stopped may have lost its session. What can't write may end: a broker whose disk
    is full, and whoever has to write to it.
    """
    if fault.how == How.STOPPED:
        return process == fault.target
    if fault.how != How.DISK_FULL:
        return False
    if fault.target == BROKER:
        return process != CLICKHOUSE
    if fault.target == CLICKHOUSE:
        return process == CLICKHOUSE
    return process not in (BROKER, CLICKHOUSE) and process[-1] == fault.target[-1]
