"""The roofline: the least time of a layer by the system's measured ceilings alone.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", 2009.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_analyzer.models.catalogue import Catalogue
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import CeilingName, SystemMeasured, recording_of
from benanza_schemas.layer import Precision

MICROSECONDS = 1e6

BYTES_KEPT = {precision: facts.bytes / 4 for precision, facts in PRECISIONS.items()}
"""The least share of a layer's bytes that is moved at a precision.

Bytes are counted at the model's own types; 16 bits halve what was 32. Integers, and floats of 16
bits in the model, are then counted at half, so that the roofline is still a lower bound.
"""


class PlatformCeilings(NamedTuple):
    """The highest measured rates of a platform: bytes per second, operations per second."""

    bandwidth: float
    flops: float


def roofline_us(
    numbers: npt.NDArray[np.int32],
    catalogue: Catalogue,
    ceilings: PlatformCeilings,
    precision: Precision,
) -> float:
    """The sum over these layers of the larger of bytes / bandwidth and operations / rate, in
    microseconds.

    A layer counts as often as `numbers` has its number; `NOTHING` counts zero.
    """
    bytes_moved = np.frombuffer(catalogue.bytes)[numbers] * BYTES_KEPT[precision]
    flops = np.frombuffer(catalogue.flops)[numbers]
    seconds = np.maximum(bytes_moved / ceilings.bandwidth, flops / ceilings.flops)
    return math.fsum(seconds.tolist()) * MICROSECONDS


_Key = tuple[Precision, CeilingName | None]
"""What a value is of: a ceiling, or, under `None`, the size of the last cache in bytes."""


class SystemCeilings:
    """The highest rates of a system at each precision, in any order of its events.

    Once one was measured here, imported ones of the same kind don't count.
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
        """Those at a precision; None unless both are known."""
        bandwidth, flops, _ = self.values(precision)
        return PlatformCeilings(bandwidth, flops) if bandwidth and flops else None

    def cache_bytes(self, precision: Precision) -> int:
        """The size of the last cache, zero if it isn't known."""
        return int(self._highest(precision, None))

    def values(self, precision: Precision) -> tuple[float, float, float]:
        """Bandwidth, operations per second and bytes of the cache, zero for what isn't known."""
        names: tuple[CeilingName | None, ...] = ("bandwidth", "flops", None)
        bandwidth, flops, cache_bytes = (self._highest(precision, name) for name in names)
        return bandwidth, flops, cache_bytes

    def _highest(self, precision: Precision, name: CeilingName | None) -> float:
        key = precision, name
        own = self._by_recording.get("", {}).get(key, 0)
        return own or max(
            (ceilings.get(key, 0) for ceilings in self._by_recording.values()), default=0
        )
