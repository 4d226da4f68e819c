"""Runs ingest in a process of its own, since a model may crash or hang it."""

import multiprocessing
from concurrent.futures import TimeoutError as TookTooLongError
from concurrent.futures.process import BrokenProcessPool

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from benanza_backbone.closing import Closing
from benanza_ingest.core import Ingested
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.published import Ingest, ingest_published
from benanza_schemas.events import ModelPublished

LONGEST_S = 600.0
"""The longest time for fetching and ingesting a model, in seconds."""

TRIES = 2
"""How often a model is tried if the process dies: the first time may be an accident."""


class IsolatedIngest(Closing):
    """`ingest_published` in a process of its own, which a model may crash or hang.

    The process is reused for the next model. Use it in one thread only. `longest_s` is the longest
    time for a model in seconds. `work` is a function of a module, which the process imports.
    """

    def __init__(self, longest_s: float = LONGEST_S, work: Ingest = ingest_published) -> None:
        self._longest_s = longest_s
        self._work = work
        self._renew()

    def __call__(self, published: ModelPublished, limits: Limits) -> list[Ingested]:
        """Does what `ingest_published` does. Also raises `ModelError` if the process dies or takes
        too long.
        """
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
        """Ends the process, even if it is busy. May be called several times."""
        self._pool.stop()  # type: ignore[no-untyped-call]  # the library has left it untyped
        self._pool.join()

    def _schedule(self, published: ModelPublished, limits: Limits) -> ProcessFuture[list[Ingested]]:
        args = [published, limits]
        try:
            return self._pool.schedule(self._work, args, timeout=self._longest_s)
        except RuntimeError:
            # The process died while it was idle, or with the last model, and the pool accepts
            # nothing more. That is no fault of this model.
            self.close()
            self._renew()
            return self._pool.schedule(self._work, args, timeout=self._longest_s)

    def _renew(self) -> None:
        """Makes a pool of one process, and waits until that has imported its modules."""
        # A fork would copy the threads and connections of this process.
        spawn = multiprocessing.get_context("spawn")
        self._pool = ProcessPool(max_workers=1, context=spawn)
        self._pool.schedule(_ready).result()


def _ready() -> None:
    """Does nothing: to find this function, the process imports this module."""
