"""Which calls of a bound are worth a task: those that lose the most above their speed of light."""

from collections.abc import Iterable
from typing import NamedTuple

from benanza.results.explain import ExplainedCall, Explanation


class Gap(NamedTuple):
    """Equal calls of a bound, of which `call` is the first in the model. `us` is the time above the
    speed of light of all of them; where that isn't known, all of their time.
    """

    call: ExplainedCall
    calls: int
    us: float


def gaps(explanation: Explanation) -> list[Gap]:
    """All kinds of calls that take time, those with the largest gap first."""
    alike: dict[str, list[ExplainedCall]] = {}
    for call in sorted(explanation.calls, key=lambda call: call.positions):
        if call.fingerprint and call.us > 0:
            alike.setdefault(call.fingerprint, []).append(call)
    found = (Gap(calls[0], len(calls), _above(calls)) for calls in alike.values())
    return sorted(found, key=lambda gap: (-gap.us, gap.call.fingerprint))


def _above(calls: Iterable[ExplainedCall]) -> float:
    return sum(max(call.us - (call.roofline_us or 0.0), 0.0) for call in calls)
