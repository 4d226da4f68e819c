"""How many calls a replay holds when variants are screened, and when they are timed in full."""

from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.search.instruments import Timer
from benanza_runner.measuring.batch import calls_for
from benanza_runner.measuring.search import Batch, Trial

SCREENING_US = 150.0
SCREENING_CALLS = 50
"""Short calls are screened with up to 50 repetitions, those of 150 µs and more with one."""

FULL_US = 1_000.0
FULL_CALLS = 500

WAKE_US = 5_000.0


def trial(timer: Timer, run: Run, once: Batch, once_us: float, kind: str) -> Trial:
    """What the search needs of a variant: a replay to screen it, and a longer one.

    `once` is a replay of one call, and `once_us` how long that took. Where screening takes no more
    calls than one, that was its first sample. Raises what `run` raises.
    """
    calls = calls_for(once_us, SCREENING_US, SCREENING_CALLS)
    screening = once if calls == 1 else timer.replayed(run, calls)

    def full(call_us: float) -> Batch:
        enough = calls_for(call_us, FULL_US, FULL_CALLS)
        return screening if enough <= calls else timer.replayed(run, enough)

    return Trial(screening, full, kind, (once_us,) if calls == 1 else ())


def wake(batch: Batch) -> None:
    """Keeps the device at work until it runs as fast as it will: it may have been idle."""
    spent_us = 0.0
    while spent_us < WAKE_US:
        spent_us += batch.run().us
