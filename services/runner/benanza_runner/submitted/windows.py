"""From the times of windows to those of calls. It reads no clock."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from benanza_runner.onnxruntime.copies_timer import least_of_each

SAMPLES = 5
"""Each is the least of a few windows, as the times of ONNX Runtime are of calls."""

BUSY = 0.9
"""The share of a window for which a worker that is never idle works, or waits for a processor."""

_OF_PROCESS = 2


class TimedWindow(NamedTuple):
    """How much time passed in a window, how long all threads of the worker worked meanwhile, and
    how long one of these waited for a processor, in microseconds; and how many calls it had.
    """

    passed_us: float
    worked_us: float
    waited_us: float
    calls: int

    @property
    def us(self) -> float:
        """What it takes where nobody else has the processors. A thread that worked, and otherwise
        waited for one, would have taken as long as it worked. Where it was idle besides, or where
        several worked at the same time, the time that passed counts.
        """
        if self.worked_us + self.waited_us < BUSY * self.passed_us:
            return self.passed_us
        return min(self.passed_us, self.worked_us)


class Overhead(NamedTuple):
    """What a window takes without calls, and what each call takes that does nothing, in
    microseconds.
    """

    window_us: float
    call_us: float


def threads_at_once(windows: Iterable[TimedWindow]) -> float:
    """How many threads worked at the same time, on average: in half of the windows more."""
    return median(window.worked_us / window.passed_us for window in windows)


def cpu_clock(process: int) -> int:
    """The clock of the time that a process has worked, as the Linux kernel numbers it
    (clock_getcpuclockid(3)).
    """
    return (~process << 3) | _OF_PROCESS


def overhead(without: Iterable[TimedWindow], empty: Iterable[TimedWindow]) -> Overhead:
    """That of windows without calls, and of windows with calls that do nothing: the least of each,
    since what isn't known for certain is not taken off.
    """
    window_us = min(window.us for window in without)
    call_us = min((window.us - window_us) / window.calls for window in empty)
    return Overhead(window_us, max(call_us, 0.0))


def samples_us(windows: Sequence[TimedWindow], less: Overhead) -> list[float]:
    """Times of a call, each the least of some windows; 0 if it is no longer than the overhead."""
    times = [
        max((window.us - less.window_us) / window.calls - less.call_us, 0.0) for window in windows
    ]
    return least_of_each(times, SAMPLES)
