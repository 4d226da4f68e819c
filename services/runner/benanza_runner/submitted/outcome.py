"""What a submitted kernel may take, and what comes of it."""

from typing import NamedTuple


class KernelLimits(NamedTuple):
    """How many seconds it may take to start, and to do what is asked, and how many bytes of memory
    the process may have for data.
    """

    start_seconds: float = 60.0
    seconds: float = 30.0
    memory_bytes: int = 2_000_000_000


class RefusedError(Exception):
    """The kernel doesn't count; the text says why."""


class TimedKernel(NamedTuple):
    """Times of one call in microseconds, how many calls there were, what was seen around them, and
    what the kernel could have reached because this system can't keep it away.
    """

    samples_us: tuple[float, ...]
    calls: int
    environment: dict[str, str]
    unconfined: tuple[str, ...]
