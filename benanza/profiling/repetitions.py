"""A run that is repeated in several sessions, whose times differ by more than those within one."""

from collections.abc import Sequence

import numpy as np

from benanza.profiling.framework import Profile
from benanza_schemas.events import RunTimes

MOST_SAMPLES = 10_000
"""An event takes no more."""


def together(repetitions: Sequence[Profile]) -> Profile:
    """Repetitions as one run: with the calls of the first, and as many samples of each, one
    repetition after the other. One that failed stands for all.
    """
    first = repetitions[0]
    failed = next((each for each in repetitions if each.times is None), None)
    if failed is not None or len(repetitions) == 1:
        return failed or first
    environment = {name: text for each in repetitions for name, text in each.environment.items()}
    times = [each.times for each in repetitions if each.times is not None]
    return first._replace(times=_joined(times), environment=environment)


def medians_us(times: RunTimes, count: int) -> tuple[float, ...]:
    """The medians of so many repetitions that `together` joined, or of parts of one run."""
    samples_us = times.samples_us or (times.median_us,)
    parts = np.array_split(samples_us, min(count, len(samples_us)))
    return tuple(float(np.median(part)) for part in parts)


def _joined(times: Sequence[RunTimes]) -> RunTimes:
    count = min(MOST_SAMPLES // len(times), *(len(each.samples_us) for each in times))
    samples_us = tuple(us for each in times for us in each.samples_us[:count])
    lower, median, upper = np.percentile(samples_us, (25, 50, 75))
    return RunTimes(float(median), float(upper - lower), samples_us)
