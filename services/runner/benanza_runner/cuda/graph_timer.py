"""Calls timed by replaying a CUDA graph of many of them."""

from contextlib import suppress
from typing import Any

import cupy

from benanza_runner.cuda.candidate import Run
from benanza_runner.measuring.batch import calls_for
from benanza_runner.measuring.sampling import Timing
from benanza_runner.measuring.search import Batch, Trial

LOOK_US = 150.0
LOOK_CALLS = 50
WAKE_US = 5_000.0
FULL_US = 1_000.0
FULL_CALLS = 500


class GraphTimer:
    """Makes batches on one stream, which has to be the current one.

    `spent_us` is all that it has timed so far.
    """

    def __init__(self, stream: Any) -> None:
        self.spent_us = 0.0
        self._stream = stream
        self._start = cupy.cuda.Event()
        self._end = cupy.cuda.Event()

    def trial(self, run: Run, once: Batch, once_us: float, kind: str) -> Trial:
        """A look of few calls, and the full timing of as many as a replay of `FULL_US` holds.

        `once` is a replay of one call, and `once_us` what that took. Where a look holds no more,
        it was the first.
        """
        calls = calls_for(once_us, LOOK_US, LOOK_CALLS)
        look = once if calls == 1 else self.replayed(run, calls)

        def full() -> Batch:
            enough = calls_for(look.call_us(), FULL_US, FULL_CALLS)
            return look if enough <= calls else self.replayed(run, enough)

        return Trial(look, full, kind, (once_us,) if calls == 1 else ())

    def wake(self, batch: Batch) -> None:
        """Keeps the device at work until it runs as fast as it will: it may have been idle."""
        spent_us = 0.0
        while spent_us < WAKE_US:
            spent_us += batch.run().us

    def replayed(self, run: Run, calls: int) -> Batch:
        """One replay of so many calls. Raises what `run` does."""
        graph = self._captured(run, calls)
        graph.upload(self._stream)

        def replay() -> Timing:
            return Timing(self._timed_us(lambda: graph.launch(self._stream)), disturbed=False)

        return Batch(replay, calls)

    def _captured(self, run: Run, calls: int) -> Any:
        self._stream.begin_capture()
        try:
            for _ in range(calls):
                run()
        except Exception:
            # What went wrong is told by the call, not by the graph that came to nothing.
            with suppress(cupy.cuda.runtime.CUDARuntimeError):
                self._stream.end_capture()
            raise
        return self._stream.end_capture()

    def _timed_us(self, work: Run) -> float:
        self._start.record(self._stream)
        work()
        self._end.record(self._stream)
        self._end.synchronize()
        took_us = float(cupy.cuda.get_elapsed_time(self._start, self._end)) * 1_000
        self.spent_us += took_us
        return took_us
