"""Runs ingest in processes of its own, since a model may crash or hang it, or do worse.

One process fetches models, and needs the network. Another one decompresses, decodes and resolves
them, in compiled code too, and can reach nothing.
"""

import logging
import multiprocessing
from collections.abc import Callable
from concurrent.futures import TimeoutError as TookTooLongError
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from time import monotonic
from typing import TypeVar

import msgspec
from pebble import ProcessExpired, ProcessFuture, ProcessPool

from benanza_backbone.closing import Closing
from benanza_ingest.confining.confine import MEMORY_BYTES, Confinement, confine, in_force
from benanza_ingest.core import Ingested, ingest
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.published import content_of
from benanza_ingest.reading.allowed import ANYWHERE, Allowed
from benanza_ingest.reading.source import fetch
from benanza_schemas.events import ModelPublished

LONGEST_S = 600.0
"""The longest time for fetching and ingesting a model, in seconds."""

TRIES = 2
"""How often a model is tried if the process dies: the first time may be an accident."""

Work = Callable[[ModelPublished, bytes, Limits], list[Ingested]]
"""What is done with a model and the bytes of its file: `core.ingest`."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class IsolatedIngest(Closing):
    """Ingests models in processes of their own, which a model may crash or hang.

    The processes are reused for the next model. Use it in one thread only. `allowed` is from where
    models may be fetched, and `longest_s` the longest time for a model in seconds. `work` is a
    function of a module, which the process imports.
    """

    def __init__(
        self, allowed: Allowed = ANYWHERE, longest_s: float = LONGEST_S, work: Work = ingest
    ) -> None:
        self._longest_s = longest_s
        self._work = work
        self._content_of = partial(content_of, fetch=partial(fetch, allowed=allowed))
        self._worker = _Worker(network=False)
        self._fetcher: _Worker | None = None  # Most models need none: they come in their events.
        missing = self.confinement.missing()
        if missing:
            log.warning("models are ingested by a process that keeps %s", " and ".join(missing))

    @property
    def confinement(self) -> Confinement:
        """What the process that ingests can't do."""
        return self._worker.confinement

    def __call__(self, published: ModelPublished, limits: Limits) -> list[Ingested]:
        """Does what `ingest_published` does. Also raises `ModelError` if a process dies, takes too
        long, or needs too much memory.
        """
        deadline = monotonic() + self._longest_s
        if published.content is None:
            if self._fetcher is None:
                self._fetcher = _Worker(network=True)
            reader = self._fetcher
        else:
            reader = self._worker  # Decompressing is compiled code, and needs no network.
        content = self._done(reader, deadline, self._content_of, published, limits)
        published = msgspec.structs.replace(published, content=None)  # It went over already.
        return self._done(self._worker, deadline, self._work, published, content, limits)

    def close(self) -> None:
        """Ends the processes, even if they are busy. May be called several times."""
        self._worker.close()
        if self._fetcher is not None:
            self._fetcher.close()

    def _done(
        self,
        worker: "_Worker",
        deadline: float,
        work: Callable[..., T],
        published: ModelPublished,
        *arguments: object,
    ) -> T:
        for _ in range(TRIES):
            # What is left after a slow download, but enough to begin.
            seconds = max(1.0, min(self._longest_s, deadline - monotonic()))
            try:
                found = worker.schedule(work, [published, *arguments], seconds).result()
            except TookTooLongError:
                raise ModelError(
                    f"{published.name} was not ingested within {self._longest_s:g} s; publish a "
                    "smaller model, or from a faster place"
                ) from None
            except MemoryError:
                raise ModelError(
                    f"{published.name} takes more than {MEMORY_BYTES:,} bytes of memory; publish a "
                    "smaller model"
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


class _Worker(Closing):
    """A confined process that does one thing after another."""

    def __init__(self, network: bool) -> None:
        self._network = network
        self._renew()

    def schedule(
        self, work: Callable[..., T], arguments: list[object], seconds: float
    ) -> "ProcessFuture[T]":
        """Starts it; the future raises `TimeoutError` after so many seconds."""
        try:
            return self._pool.schedule(work, arguments, timeout=seconds)
        except RuntimeError:
            # The process died while it was idle, or with the last model, and the pool accepts
            # nothing more. That is no fault of this model.
            self.close()
            self._renew()
            return self._pool.schedule(work, arguments, timeout=seconds)

    def close(self) -> None:
        """Ends the process, even if it is busy. May be called several times."""
        self._pool.stop()  # type: ignore[no-untyped-call]  # the library has left it untyped
        self._pool.join()

    def _renew(self) -> None:
        """Makes a pool of one process, and waits until that has imported its modules."""
        # A fork would copy the threads and connections of this process.
        spawn = multiprocessing.get_context("spawn")
        self._pool = ProcessPool(
            max_workers=1, context=spawn, initializer=confine, initargs=[self._network]
        )
        self.confinement: Confinement = self._pool.schedule(_ready).result()


def _ready() -> Confinement:
    """What is in force here. To find this function, the process imports this module."""
    found = in_force()
    assert found is not None, "the pool's initializer has confined the process"
    return found
