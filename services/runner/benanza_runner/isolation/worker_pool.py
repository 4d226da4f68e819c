"""Several worker processes for one device: while one times a layer, others prepare the next ones.

Lowering, compiling, planning and the reference results take longer than timing does. The workers'
runtime sees to it that only one at a time uses the device.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import LifoQueue
from typing import Self

from benanza_runner.isolation.isolated_runtime import IsolatedRuntime
from benanza_runner.runtime import Outcome, RunResult, Runtime
from benanza_schemas.events import Ceiling, System
from benanza_schemas.identity import fingerprint_of_canonical
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.program import Program


class WorkerPool(Runtime):
    """Measures as many layers at once as there are workers, of those that `expect` named.

    `make` makes the worker of a number. Close the pool, or use it in a `with` statement. Raises
    what `make` raises.
    """

    def __init__(self, make: Callable[[int], IsolatedRuntime], workers: int) -> None:
        self._workers = [make(number) for number in range(workers)]
        self._idle: LifoQueue[IsolatedRuntime] = LifoQueue()
        for worker in reversed(self._workers):
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="worker")
        self._begun: dict[tuple[str, Precision], Future[Outcome]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the workers at once. What was begun is lost, and the pool can't be used again."""
        for worker in self._workers:
            worker.stop()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    @property
    def at_once(self) -> int:
        """Enough for each worker to have a next layer when it is done with one."""
        return 2 * len(self._workers)

    def system(self) -> System:
        """The workers' system. Raises `RuntimeStartError`."""
        return self._workers[0].system()

    def cache_bytes(self) -> int:
        """The device's cache, in bytes. Raises `RuntimeStartError`."""
        return self._workers[0].cache_bytes()

    def expect(self, layers: Iterable[tuple[Layer, Precision]]) -> None:
        """Begins to measure these, in this order."""
        for layer, precision in layers:
            key = fingerprint_of_canonical(layer), precision
            if key not in self._begun:
                self._begun[key] = self._begin(layer, precision)

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        """What a worker says of the layer. Raises `RuntimeStartError`."""
        begun = self._begun.pop((fingerprint_of_canonical(layer), precision), None)
        return (begun or self._begin(layer, precision)).result()

    def _begin(self, layer: Layer, precision: Precision) -> Future[Outcome]:
        def measured() -> Outcome:
            with self._borrowed() as worker:
                return worker.measure(layer, precision)

        return self._threads.submit(measured)

    def ceilings(self, precision: Precision) -> tuple[Ceiling, ...]:
        """The device's ceilings. Raises `RuntimeStartError`."""
        with self._borrowed() as worker:
            return worker.ceilings(precision)

    def witness(self, program: Program, precision: Precision) -> RunResult:
        """What a worker says of the model. Raises `RuntimeStartError`."""
        with self._borrowed() as worker:
            return worker.witness(program, precision)

    @contextmanager
    def _borrowed(self) -> Iterator[IsolatedRuntime]:
        worker = self._idle.get()
        try:
            yield worker
        finally:
            self._idle.put(worker)
