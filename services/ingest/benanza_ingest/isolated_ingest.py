"""Ingest in a process of its own, which a model may crash or hang."""

import multiprocessing
from concurrent.futures import TimeoutError as TookTooLongError
from concurrent.futures.process import BrokenProcessPool

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from benanza_backbone.closing import Closing
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.published import Ingest, ingest_published
from benanza_schemas.events import LayerSeen, ModelIngested, ModelPublished

LONGEST_S = 600.0
"""Seconds in which a model must have been fetched and ingested."""

TRIES = 2
"""How often a model is tried whose process dies: the first time it may have been an accident."""


class IsolatedIngest(Closing):
    """`ingest_published` in a process of its own, which a model may crash or hang.

    The process is kept for the next model. Belongs to one thread. `work` is a function of a
    module, which the process imports.
    """

    def __init__(self, longest_s: float = LONGEST_S, work: Ingest = ingest_published) -> None:
        self._longest_s = longest_s
        self._work = work
        self._renew()

    def __call__(
        self, published: ModelPublished, limits: Limits
    ) -> list[ModelIngested | LayerSeen]:
        """As `ingest_published`; also raises `ModelError` where the process dies, or takes
        longer than it may."""
        for _ in range(TRIES):
            try:
                found = self._schedule(published, limits).result()
            except TookTooLongError:
                raise ModelError(
                    f"{published.name} was not ingested within {self._longest_s:g} s; publish a "
                    "smaller model, or from a faster place"
                ) from None
            except ProcessExpired as error:
                end = f"status {error.exitcode}"
            except BrokenProcessPool:
                end = "no status"
            else:
                return found
        raise ModelError(
            f"{published.name} ends the process that ingests it, with {end}, each of {TRIES} "
            "times; check it with onnx.checker, and export it again"
        )

    def close(self) -> None:
        """Ends the process, at once if it is busy. May be called again."""
        self._pool.stop()  # type: ignore[no-untyped-call]  # the library has left it untyped
        self._pool.join()

    def _schedule(
        self, published: ModelPublished, limits: Limits
    ) -> ProcessFuture[list[ModelIngested | LayerSeen]]:
        args = [published, limits]
        try:
            return self._pool.schedule(self._work, args, timeout=self._longest_s)
        except RuntimeError:
            # The process died while it had nothing to do, or with the last model; the pool
            # takes nothing more then. That is no fault of this model.
            self.close()
            self._renew()
            return self._pool.schedule(self._work, args, timeout=self._longest_s)

    def _renew(self) -> None:
        """Makes a pool of one process, which has imported what it needs."""
        # A fork would take along the threads and connections of this process.
        spawn = multiprocessing.get_context("spawn")
        self._pool = ProcessPool(max_workers=1, context=spawn)
        self._pool.schedule(_ready).result()


def _ready() -> None:
    """Nothing: to find this function, the process imports this module."""
