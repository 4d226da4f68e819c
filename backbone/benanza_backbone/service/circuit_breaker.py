"""Stops a service where so many events fail that the fault is hardly theirs."""

from collections import deque

from benanza_backbone.errors import BenanzaError

MAX_IN_A_ROW = 100
RECENT = 200
MAX_OF_RECENT = RECENT // 2


class CircuitOpenError(BenanzaError):
    """A service stops, since going on would send everything to the dead letters.

    Its process stays, and is not ready: whoever looks after it would start it again at once, and
    the next hundred events would follow.
    """


class CircuitBreaker:
    """Counts what could not be processed: in a row, and among the last `RECENT` events."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._in_a_row = 0
        self._recent: deque[bool] = deque(maxlen=RECENT)
        self._failures = 0

    def count(self, failed: bool) -> None:
        """An event was processed, or could not be."""
        self._in_a_row = self._in_a_row + 1 if failed else 0
        # Kept as a count, since some check after each event.
        self._failures += failed
        if len(self._recent) == RECENT:
            self._failures -= self._recent[0]
        self._recent.append(failed)

    def reached(self) -> bool:
        """Whether there were too many."""
        return self._in_a_row > MAX_IN_A_ROW or self._failures > MAX_OF_RECENT

    def check(self) -> None:
        """Raises `CircuitOpenError` where there were too many."""
        if not self.reached():
            return
        if self._in_a_row > MAX_IN_A_ROW:
            what = f"could process none of the last {self._in_a_row:,} events"
        else:
            what = f"could not process {self._failures} of the last {len(self._recent)} events"
        raise CircuitOpenError(
            f"{self._group} stops: it {what}; the dead letters hold them with their reasons: mend "
            "what they name, then restart it"
        )
