"""Whether a limit holds, by times that vary.

The times of one program on one machine vary by some hundredths, so a limit that is compared with
one of them is passed or not as it happens. Here a time is an interval: from the least to the
greatest median of several repetitions. A limit fails only where the whole interval is above it. Of
five repetitions of a run whose median is at the limit, all five are above it once in 32 times; of
ten repetitions of one program, five after five, those five are all above these once in 252 times.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from benanza.gating.results import GateCheck, Limit, Verdict

REPETITIONS = 5

FEW = (
    "too few repetitions or samples are known to say how they vary; run benanza gate without "
    "--stored, and record what it is compared with so"
)


class Varying(NamedTuple):
    """A time in microseconds, between which others it lies, and of how many repetitions."""

    us: float
    least_us: float
    greatest_us: float
    repetitions: int = REPETITIONS


def varying(medians_us: Sequence[float]) -> Varying:
    """The time of which these are repetitions, at least one."""
    return Varying(median(medians_us), min(medians_us), max(medians_us), len(medians_us))


def check(
    limit: Limit,
    allowed: float,
    run: Varying,
    beside: Varying,
    doubt: str = "",
    doubt_beside: str = "",
) -> GateCheck:
    """Whether the run takes at most `allowed` times as long as what it stands `beside`. A `doubt`
    says why the ratio may be less: then no limit fails by it. `doubt_beside` says why it may be
    more: then none is passed. Nor does one fail by fewer repetitions than `REPETITIONS`.
    """
    ratio = _over(run.us, beside.us)
    least = _over(run.least_us, beside.greatest_us)
    greatest = _over(run.greatest_us, beside.least_us)
    verdict: Verdict
    if least > allowed:
        few = min(run.repetitions, beside.repetitions) < REPETITIONS
        verdict, reason = "fails", doubt or (FEW if few else "")
    else:
        verdict, reason = ("holds" if greatest <= allowed else "within the noise"), doubt_beside
    return GateCheck(
        limit=limit,
        allowed=allowed,
        verdict="unknown" if reason else verdict,
        ratio=ratio,
        least=least,
        greatest=greatest,
        reason=reason,
    )


def unknown(limit: Limit, allowed: float, reason: str) -> GateCheck:
    """A limit that can't be checked, and why."""
    return GateCheck(limit=limit, allowed=allowed, verdict="unknown", reason=reason)


def _over(us: float, of_us: float) -> float:
    return us / of_us if of_us > 0 else math.inf
