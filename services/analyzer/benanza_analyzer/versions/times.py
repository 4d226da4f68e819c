"""When versions of bounds were computed: a later version never has an earlier time.

Of the versions under one claim the one with the latest time is the current one, for all who read
it; and people read the versions of all claims in order of time. So a clock that is set back, or an
analyzer that takes over with a clock behind, must not give a version a time before those of former
ones.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from benanza_backbone.clock import Clock
from benanza_schemas.events import BoundUpdated
from benanza_schemas.layer import Accounting, Precision
from benanza_schemas.limits import LAST_TIME, Time, in_utc

LEAST = timedelta(microseconds=1)
"""Between two versions: what the stored times resolve."""


class _Version(msgspec.Struct, frozen=True):
    """What is read of a `BoundUpdated`, in a tenth of the time or less that all of it takes."""

    architecture_id: str
    system_id: str
    precision: Precision
    accounting: Accounting
    fusion: bool
    computed_at: Time


_VERSIONS = msgspec.msgpack.Decoder(_Version)

_Key = tuple[str, str, Precision, Accounting, bool]


class VersionTimes:
    """The times of one process's versions. `clock` gives the time, in UTC; it may jump.

    Of former versions only those are kept that this clock has not come to.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock() - LEAST
        self._ahead: dict[_Key, datetime] = {}

    def now(self) -> datetime:
        """The time by the clock, but later than what was returned before."""
        self._last = max(self._clock(), self._last + LEAST)
        return self._last

    def restore(self, former: Iterable[bytes]) -> None:
        """Takes in `BoundUpdated` events that any process wrote before. Other records are left out,
        and so are events of a version of the contract before architectures.
        """
        for encoded in former:
            try:
                version = _VERSIONS.decode(encoded)
                computed_at = in_utc(version.computed_at)
            except (ValueError, RecursionError):
                continue
            key = _key(version)
            if computed_at > self._ahead.get(key, self._last):
                self._ahead[key] = computed_at

    def after_former(self, updates: Sequence[BoundUpdated]) -> list[BoundUpdated]:
        """The new versions, each with a time behind its bound's former one."""
        return [self._after_former(update) for update in updates]

    def _after_former(self, update: BoundUpdated) -> BoundUpdated:
        key = _key(update)
        former = self._ahead.pop(key, None)
        if former is None or update.computed_at > former:
            return update
        # At the end of what can be stored, versions have the same time, and their ids decide.
        self._ahead[key] = later = min(former + LEAST, LAST_TIME)
        return msgspec.structs.replace(update, computed_at=later)


def _key(version: _Version | BoundUpdated) -> _Key:
    return (
        version.architecture_id,
        version.system_id,
        version.precision,
        version.accounting,
        version.fusion,
    )
