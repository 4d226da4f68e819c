"""Calls timed by replaying a CUDA graph of many of them."""

from contextlib import suppress
from typing import Any

import cupy

from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.timing.peers import rejoin_peers
from benanza_runner.measuring.sampling import Timing
from benanza_runner.measuring.search import Batch


class GraphTimer:
    """Makes batches on one stream, which it makes the current one.

    `spent_us` is how long all that it has timed so far took together.
    """

    def __init__(self, stream: Any) -> None:
        self.spent_us = 0.0
        self._stream = stream
        self._start = cupy.cuda.Event()
        self._end = cupy.cuda.Event()

    def replayed(self, run: Run, calls: int) -> Batch:
        """One replay of a graph of so many calls. Raises what `run` raises."""
        graph, with_peers = self._captured(run, calls)
        if with_peers:
            # Nobody has tried to upload a graph of several GPUs.
            graph.launch(self._stream)
            self._stream.synchronize()
        else:
            graph.upload(self._stream)

        def replay() -> Timing:
            return Timing(self._timed_us(lambda: graph.launch(self._stream)), disturbed=False)

        return Batch(replay, calls)

    def _captured(self, run: Run, calls: int) -> tuple[Any, bool]:
        """The graph, and whether other GPUs have a part in it."""
        # Once results were read, it may be another: then kernels would be left out of the graph.
        self._stream.use()
        self._stream.begin_capture()
        try:
            for _ in range(calls):
                run()
            with_peers = rejoin_peers(self._stream)
        except Exception:
            # The call's own error says what went wrong; ending the broken capture raises another.
            with suppress(cupy.cuda.runtime.CUDARuntimeError):
                self._stream.end_capture()
            raise
        return self._stream.end_capture(), with_peers

    def _timed_us(self, work: Run) -> float:
        self._start.record(self._stream)
        work()
        self._end.record(self._stream)
        self._end.synchronize()
        took_us = float(cupy.cuda.get_elapsed_time(self._start, self._end)) * 1_000
        self.spent_us += took_us
        return took_us
