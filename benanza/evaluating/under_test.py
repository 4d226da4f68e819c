"""The system under test: it takes LoadGen's requests, makes batches of them, and answers.

The server has a queue: a batch starts once it is full, or once its first request has waited for as
long as it may. Other scenarios are answered as they are asked for, in batches of the size that was
found to be best.

All answer in the thread that runs the load, in which the model was loaded. In another one PyTorch's
calls on a CPU can take half as long again: OpenMP would keep threads for both, and where these are
more than there are processors, GNU's no longer wait in a loop for the next parallel region.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from benanza.evaluating.pipeline import Answered, Pipeline


class Query(NamedTuple):
    """A sample that is asked for, by its index: LoadGen's id, and when it came, in nanoseconds of
    `time.perf_counter_ns`.
    """

    id: int
    sample: int
    came_ns: int


class AnsweredBatch(NamedTuple):
    """Queries that were answered together."""

    queries: Sequence[Query]
    answered: Answered


Complete = Callable[[Sequence[Query]], None]
"""Tells LoadGen that queries are answered."""


class SystemUnderTest(ABC):
    """Answers queries by a pipeline. What is raised meanwhile is kept as `raised`, and all other
    queries are answered at once, as LoadGen waits for each of them.
    """

    def __init__(self, pipeline: Pipeline, complete: Complete, *, keeps: bool = False) -> None:
        self.batches: list[AnsweredBatch] = []
        self.results: dict[int, Any] = {}
        self.raised: BaseException | None = None
        self._pipeline = pipeline
        self._complete = complete
        self._keeps = keeps

    def issue(self, samples: Sequence[Any]) -> None:
        """Takes LoadGen's `QuerySample`s."""
        came = time.perf_counter_ns()
        self.take([Query(sample.id, sample.index, came) for sample in samples])

    @abstractmethod
    def take(self, queries: Sequence[Query]) -> None:
        """Answers queries, or sees to it that they are."""

    @abstractmethod
    def flush(self) -> None:
        """No more queries come."""

    def interrupt(self) -> None:
        """From now on all is answered at once, without the model, and `raised` is that it was
        interrupted.
        """
        self.raised = self.raised or KeyboardInterrupt()

    @abstractmethod
    def run(self, load: Callable[[], None]) -> None:
        """Runs `load`, which issues queries until it ends, and answers these in this thread."""

    def answer(self, queries: Sequence[Query]) -> None:
        """Answers queries as one batch."""
        if self.raised is None:
            try:
                answered = self._pipeline.answer([query.sample for query in queries])
                if self._keeps:
                    indices = (query.sample for query in queries)
                    self.results |= dict(zip(indices, answered.results, strict=True))
                # Results may be large, and there are as many as requests.
                self.batches.append(AnsweredBatch(queries, answered._replace(results=[])))
            except BaseException as error:  # noqa: BLE001  # an interruption as well
                self.raised = error
        self._complete(queries)


class InTurn(SystemUnderTest):
    """Answers all that it is asked for at once, in batches of up to so many samples."""

    def __init__(
        self, pipeline: Pipeline, complete: Complete, batch: int, *, keeps: bool = False
    ) -> None:
        super().__init__(pipeline, complete, keeps=keeps)
        self._batch = batch

    def take(self, queries: Sequence[Query]) -> None:
        """Answers before it returns."""
        for start in range(0, len(queries), self._batch):
            self.answer(queries[start : start + self._batch])

    def flush(self) -> None:
        """Nothing waits."""

    def run(self, load: Callable[[], None]) -> None:
        """As all is answered in the thread that issues, this one does that."""
        load()


class BatchingServer(SystemUnderTest):
    """Makes batches of what waits, and answers these while another thread issues queries."""

    def __init__(
        self, pipeline: Pipeline, complete: Complete, max_batch: int, max_wait_us: float
    ) -> None:
        super().__init__(pipeline, complete)
        self._max_batch = max_batch
        self._max_wait_ns = int(1_000 * max_wait_us)
        self._waiting: deque[Query] = deque()
        self._changed = threading.Condition()
        self._ends = False

    def take(self, queries: Sequence[Query]) -> None:
        """Puts them into the queue."""
        with self._changed:
            self._waiting.extend(queries)
            self._changed.notify()

    def flush(self) -> None:
        """What waits for others needn't any longer."""
        with self._changed:
            self._max_wait_ns = 0
            self._changed.notify()

    def run(self, load: Callable[[], None]) -> None:
        """Runs the load in a thread of its own, and answers what it issues."""
        with ThreadPoolExecutor(1, thread_name_prefix="load") as thread:
            loaded = thread.submit(load)
            loaded.add_done_callback(lambda _: self._end())
            while batch := self._next():
                self.answer(batch)
            loaded.result()

    def _end(self) -> None:
        """What waits is answered, and no more comes."""
        with self._changed:
            self._ends = True
            self._changed.notify()

    def _next(self) -> list[Query]:
        """The next batch, once it may start; empty at the end."""
        with self._changed:
            while not self._may_start():
                if self._ends and not self._waiting:
                    return []
                self._changed.wait(self._left_s())
            size = min(len(self._waiting), self._max_batch)
            return [self._waiting.popleft() for _ in range(size)]

    def _may_start(self) -> bool:
        if not self._waiting:
            return False
        return self._ends or len(self._waiting) >= self._max_batch or self._left_s() == 0.0

    def _left_s(self) -> float | None:
        """For how long the first query may still wait; `None` if there is none."""
        if not self._waiting:
            return None
        waited = time.perf_counter_ns() - self._waiting[0].came_ns
        return max(0, self._max_wait_ns - waited) / 1e9
