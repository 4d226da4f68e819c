"""What the search measures with: the GPU has its instruments, and tests make theirs up."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.measuring.search import Batch


class Timer(Protocol):
    """Times calls that run one after the other."""

    def replayed(self, run: Run, calls: int) -> Batch:
        """A replay of so many calls as one piece of work. Raises what `run` raises."""
        ...


class NoiseError(Exception):
    """A call that takes too little to be told from the kernels that it was timed with."""


class InterleavedTimer(Protocol):
    """Times calls that run after other kernels, as they do within a model."""

    def forget(self) -> None:
        """Drops remembered times of the other kernels, which are subtracted."""
        ...

    def interleaved_us(self, run: Run, alone_us: float) -> tuple[float, ...]:
        """Samples of a call after another kernel, in microseconds.

        `alone_us` is about what the call takes by itself. Raises `NoiseError`.
        """
        ...

    def weights_cold_us(
        self,
        run: Run,
        alone_us: float,
        read: Sequence[DeviceTensor],
        written: DeviceTensor,
        scratch: Any | None,
    ) -> tuple[float, ...]:
        """Samples of a call whose weights are in memory, in microseconds. Raises `NoiseError`.

        What the call reads of other calls, `read`, and its scratch memory are in the last cache;
        `written` is its result.
        """
        ...


class Device(Protocol):
    """What may slow the device down."""

    def slowed_by(self) -> tuple[str, ...]:
        """What makes the device run slower than it could, now."""
        ...

    def slowed_at_work_by(self) -> tuple[str, ...]:
        """The same of a device that has just worked, which may be more."""
        ...


class Conversion(NamedTuple):
    """How long layout conversions take, in microseconds: alone, and interleaved with other kernels
    if that was to be timed and is more than noise.
    """

    alone_us: float
    interleaved_us: float | None


Convert = Callable[[DeviceTensor, DeviceTensor], Run]
"""Makes what converts the first tensor into the second one's layout."""
