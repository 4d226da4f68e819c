"""Runs ingest in processes of its own, since a model may crash or hang it, or do worse.

One process fetches models, and needs the network. Another one decompresses, decodes and resolves
them, in compiled code too, and can reach nothing. Each model has a child of these for itself.
"""

import logging
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TypeVar

from benanza_backbone.closing import Closing
from benanza_backbone.confining.confine import Confinement
from benanza_backbone.errors import BenanzaError
from benanza_backbone.worker import frames
from benanza_backbone.worker.process import LateWorkerError, WorkerError, decoded
from benanza_ingest.core import Ingested, batch_sizes, events_of
from benanza_ingest.errors import ModelError
from benanza_ingest.garbage import no_garbage_search
from benanza_ingest.isolation.answers import models, taken_apart, unless_refused
from benanza_ingest.isolation.forking_worker import ForkingWorker
from benanza_ingest.isolation.messages import (
    MOST_REFUSAL_BYTES,
    FetchModel,
    Reach,
    TakeApart,
    encoder,
    fetched,
)
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import ANYWHERE, Allowed
from benanza_schemas.events import ModelPublished

LONGEST_S = 600.0
"""The longest time for fetching and ingesting a model, in seconds."""

TRIES = 2
"""How often a model is tried if the process dies: the first time may be an accident."""

WORKER_MODULE = "benanza_ingest.isolation.worker"

T = TypeVar("T")

log = logging.getLogger(__name__)


class IsolatedIngest(Closing):
    """Ingests models in processes of their own, which a model may crash, hang or take over.

    Use it in one thread only. `allowed` is from where models may be fetched, and `longest_s` the
    longest time for a model in seconds. `module` is what the processes run. Raises `BenanzaError`
    if that can't be started.
    """

    def __init__(
        self, allowed: Allowed = ANYWHERE, longest_s: float = LONGEST_S, module: str = WORKER_MODULE
    ) -> None:
        self._longest_s = longest_s
        sources = None if allowed.sources is None else ",".join(map(str, allowed.sources))
        self._taking_apart = _Renewed(module, Reach(network=False, sources=""))
        # Most models need none: they come in their events.
        self._fetching = _Renewed(module, Reach(network=True, sources=sources))
        try:
            self.confinement: Confinement = self._taking_apart.worker().confinement
            """What the process that takes models apart can't do."""
        except WorkerError as error:
            raise BenanzaError(
                f"the process that ingests models can't be started: {_ending(error)}; install "
                "benanza again"
            ) from None
        if missing := self.confinement.missing():
            log.warning("models are ingested by a process that keeps %s", " and ".join(missing))

    @no_garbage_search()
    def __call__(self, published: ModelPublished, limits: Limits) -> list[Ingested]:
        """Does what `ingest_published` does. Also raises `ModelError` if a process dies, takes too
        long, needs too much memory, or answers what can't be true.
        """
        deadline = monotonic() + self._longest_s
        batch_sizes(published)  # Before anything is fetched.
        content = bytearray()
        if published.content is None:
            fetch = partial(self._fetched, published, limits)
            content = self._tried(published, deadline, fetch)
        take_apart = partial(self._taken_apart, published, content, limits)
        return self._tried(published, deadline, take_apart)

    def close(self) -> None:
        """Ends the processes, even if they are busy. May be called several times."""
        self._taking_apart.close()
        self._fetching.close()

    def _fetched(self, published: ModelPublished, limits: Limits, seconds: float) -> bytearray:
        request = encoder.encode(FetchModel(published, limits))
        worker = self._fetching.worker()
        try:
            with worker.answering(seconds) as deadline, worker.child() as child:
                frames.send(child, request, deadline)
                answer = frames.receive(child, MOST_REFUSAL_BYTES, deadline)
                unless_refused(decoded(answer, fetched))
                return frames.receive(child, limits.model_bytes, deadline)
        except ModelError:
            # Where files of the system were replaced since, only another one can read them.
            self._fetching.close()
            raise

    def _taken_apart(
        self, published: ModelPublished, content: bytearray, limits: Limits, seconds: float
    ) -> list[Ingested]:
        request = encoder.encode(TakeApart(published, limits))
        worker = self._taking_apart.worker()
        with worker.answering(seconds) as deadline:
            with worker.child() as child:
                frames.send(child, request, deadline)
                if published.content is None:
                    frames.send(child, content, deadline)
                answered = taken_apart(child, published, deadline)
            return events_of(published, models(answered, published, limits))

    def _tried(self, published: ModelPublished, deadline: float, work: Callable[[float], T]) -> T:
        ended: list[str] = []
        while len(ended) < TRIES:
            # What is left after a slow download, but enough to begin.
            seconds = max(1.0, min(self._longest_s, deadline - monotonic()))
            try:
                return work(seconds)
            except LateWorkerError:
                raise ModelError(
                    f"{published.name} was not ingested within {self._longest_s:g} s; publish a "
                    "smaller model, or from a faster place"
                ) from None
            except WorkerError as error:
                ended.append(_ending(error))
        raise ModelError(
            f"{published.name} was not ingested: {ended[-1]}, each of {TRIES} times; check it with "
            "onnx.checker, and export it again"
        )


class _Renewed:
    """A process that is started when it is needed, and again after it ended."""

    def __init__(self, module: str, reach: Reach) -> None:
        self._module = module
        self._reach = reach
        self._worker: ForkingWorker | None = None

    def worker(self) -> ForkingWorker:
        """The process. Raises as `ForkingWorker` does."""
        if self._worker is None or not self._worker.is_alive():
            self.close()
            self._worker = ForkingWorker(self._module, self._reach)
        return self._worker

    def close(self) -> None:
        """Ends the process. May be called again."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None


def _ending(error: WorkerError) -> str:
    """What became of a process, with its last words."""
    return f"{error}: {error.words}" if error.words else str(error)
