"""The ceilings of a system: the highest rates that were measured there, each of its kind."""

from typing import NamedTuple

from benanza_schemas.events import CeilingName, SystemMeasured, recording_of
from benanza_schemas.layer import Precision


class PlatformCeilings(NamedTuple):
    """The highest measured rates of a platform: bytes per second from the last cache and
    operations per second; bytes per second from the memory and calls per second, which are zero
    where they aren't known, as is the size of the last cache in bytes.
    """

    bandwidth: float
    flops: float
    memory: float = 0.0
    launches: float = 0.0
    cache_bytes: float = 0.0


_Key = tuple[Precision, CeilingName | None]
"""What a value is of: a ceiling, or, under `None`, the size of the last cache in bytes."""

_OF_A_PRECISION: CeilingName = "flops"
"""The only ceiling that differs by precision: bytes and calls are the same of every type."""


class SystemCeilings:
    """The highest rates of a system at each precision, in any order of its events.

    A rate of bytes or calls is that of any precision, the highest one. Once one was measured here,
    imported ones of the same kind don't count.
    """

    def __init__(self) -> None:
        self._by_recording: dict[str, dict[_Key, float]] = {}

    def add(self, event: SystemMeasured) -> None:
        """Takes in what was measured."""
        known = self._by_recording.setdefault(recording_of(event), {})
        for ceiling in event.ceilings:
            for name, value in ((ceiling.name, ceiling.value), (None, event.cache_bytes)):
                key = ceiling.precision, name
                known[key] = max(value, known.get(key, 0))

    def has(self, recording: str) -> bool:
        """Whether something was imported from the file with this digest."""
        return recording in self._by_recording

    def withdraw(self, recording: str) -> None:
        """Forgets what was imported from the file with this digest."""
        self._by_recording.pop(recording, None)

    def of(self, precision: Precision) -> PlatformCeilings | None:
        """Those at a precision; None unless bandwidth and operations are known."""
        ceilings = self.values(precision)
        return ceilings if ceilings.bandwidth and ceilings.flops else None

    def values(self, precision: Precision) -> PlatformCeilings:
        """Those at a precision, zero for what isn't known."""
        names: tuple[CeilingName | None, ...] = ("bandwidth", "flops", "memory", "launches", None)
        return PlatformCeilings(*(self._highest(precision, name) for name in names))

    def _highest(self, precision: Precision, name: CeilingName | None) -> float:
        own = self._of_recording("", precision, name)
        return own or max(
            (self._of_recording(of, precision, name) for of in self._by_recording), default=0
        )

    def _of_recording(
        self, recording: str, precision: Precision, name: CeilingName | None
    ) -> float:
        known = self._by_recording.get(recording, {})
        if name == _OF_A_PRECISION:
            return known.get((precision, name), 0)
        return max((value for (_, of), value in known.items() if of == name), default=0)
