"""Whether a machine was busy with something else while a layer was timed."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

OTHERS = "other programs"
STOLEN = "the hypervisor"
OVERHEAD = "a longer overhead of calls"
SPREAD = "a wide spread"

BUSY = frozenset((OTHERS, STOLEN, OVERHEAD, SPREAD))
"""What makes a measurement doubtful that a quiet machine wouldn't. A limit of power isn't here."""

WAITED = 0.05
"""The share of the time for which one thread may have waited for a processor."""

TAKEN = 0.15
"""The share of the processors that others may have had."""

TICKS_S = 0.04
"""What others had counts from so many seconds on: the kernel counts hundredths of a second."""

WIDE = 0.3
"""The interquartile range of samples, as a share of their median, from which they are spread."""


class Load(NamedTuple):
    """Counters of a machine, in seconds since some time before, read at `at_s`.

    `busy_s` is the time for which `cpus` processors worked, for anybody, and `stolen_s` that which
    the hypervisor gave to other machines. `own_s` is the processor time of this process, and
    `waited_s` the time for which each of its threads could have run and did not, by thread.
    """

    at_s: float
    cpus: int
    busy_s: float
    stolen_s: float
    own_s: float
    waited_s: Mapping[int, float]


class Busy(NamedTuple):
    """What kept a machine busy, and the shares of its processors that others and the hypervisor
    had meanwhile.
    """

    by: tuple[str, ...]
    others: float
    stolen: float


def busy_between(before: Load, after: Load) -> Busy:
    """What else the machine did between two readings."""
    seconds = max(after.at_s - before.at_s, 1e-9)
    others_s = max(0.0, after.busy_s - before.busy_s - (after.own_s - before.own_s))
    stolen_s = max(0.0, after.stolen_s - before.stolen_s)
    waited_s = max(
        (s - before.waited_s.get(thread, 0.0) for thread, s in after.waited_s.items()), default=0.0
    )
    others, stolen = (s / (seconds * after.cpus) for s in (others_s, stolen_s))
    reasons = []
    if waited_s > WAITED * seconds or (others > TAKEN and others_s >= TICKS_S):
        reasons.append(OTHERS)
    if stolen > WAITED and stolen_s >= TICKS_S:
        reasons.append(STOLEN)
    return Busy(tuple(reasons), others, stolen)


def as_environment(busy: Busy, reasons: Sequence[str]) -> dict[str, str]:
    """What makes times doubtful, in the words of a measurement's environment. `reasons` are those
    of `busy`, and perhaps others.
    """
    return {
        "busy_share": f"{busy.others:.2f}",
        "stolen_share": f"{busy.stolen:.2f}",
        **doubts_as_environment(reasons, stable=not reasons),
    }


def doubts_as_environment(reasons: Sequence[str], *, stable: bool) -> dict[str, str]:
    """What slowed a measurement down, as its environment has it. It may be `stable` even so, if
    that was in an earlier try.
    """
    return {"stable": "yes" if stable else "no", "slowed_by": ", ".join(reasons)}


def doubts_in(environment: Mapping[str, str]) -> list[str]:
    """What makes the times of a measurement with this environment doubtful."""
    reasons = environment.get("slowed_by", "") if environment.get("stable") == "no" else ""
    return reasons.split(", ") if reasons else []


def quiet_within(
    seconds: float,
    read_load: Callable[[], Load],
    sleep: Callable[[float], None],
    glance: float = 0.5,
) -> bool:
    """Whether nobody else was at work for a `glance`, in seconds, begun within that time."""
    before = read_load()
    deadline = before.at_s + seconds
    while True:
        sleep(glance)
        after = read_load()
        if not busy_between(before, after).by:
            return True
        if after.at_s >= deadline:
            return False
        before = after
