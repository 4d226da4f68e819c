"""Times calls on the processor, by the clock."""

import resource
import time
from collections.abc import Callable

from benanza_runner.measuring.sampling import Timing


def clocked(run: Callable[[], object]) -> Timing:
    """Runs it once, to its end.

    The system counts how often it took a processor away from this process: a call during which that
    happened is disturbed.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    started = time.perf_counter_ns()
    run()
    took = time.perf_counter_ns() - started
    taken_away = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - before
    return Timing(took / 1_000, taken_away > 0)
