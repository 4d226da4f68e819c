"""Events whose records are still on their way to the broker."""

from asyncio import Event, Future
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class _Open(NamedTuple):
    acknowledge: Callable[[], None]
    writes: Sequence[Future[Any]]


class InFlight:
    """Acknowledges events in the order they came in, each once its records are durable.

    The order matters: Faust commits the offset behind the last event acknowledged even where
    the first one after the last commit is not (`Consumer._new_offset` in 0.15.3 takes it for a
    gap in the log). In order, a commit is never ahead of the records that the events before it
    stand for; so whatever moment a process dies at, they are written again or were written.

    `on_failure` is called once, if a record can't be written: nothing is acknowledged from
    then on. At most `limit` events are open at a time.
    """

    def __init__(self, limit: int, on_failure: Callable[[BaseException], None]) -> None:
        self._limit = limit
        self._on_failure = on_failure
        self._failed = False
        self._open: deque[_Open] = deque()
        self._room = Event()
        self._empty = Event()
        self._empty.set()

    async def add(self, acknowledge: Callable[[], None], writes: Sequence[Future[Any]]) -> None:
        """Calls `acknowledge` when these writes are done, and all that was added before.

        Returns at once, unless too many are open.
        """
        if not writes and not self._open:
            acknowledge()
            return
        self._open.append(_Open(acknowledge, writes))
        self._empty.clear()
        for write in writes:
            write.add_done_callback(self._acknowledge_done)
        while len(self._open) >= self._limit:
            self._room.clear()
            await self._room.wait()

    async def drained(self) -> None:
        """Returns when nothing is open."""
        await self._empty.wait()

    def _acknowledge_done(self, _: Future[Any]) -> None:
        while self._open and not self._failed and all(w.done() for w in self._open[0].writes):
            errors = [error for write in self._open[0].writes if (error := _error(write))]
            if errors:
                self._failed = True
                self._on_failure(errors[0])
                return
            self._open.popleft().acknowledge()
        if len(self._open) < self._limit:
            self._room.set()
        if not self._open:
            self._empty.set()


def _error(write: Future[Any]) -> BaseException | None:
    return ConnectionError("the write was given up") if write.cancelled() else write.exception()
