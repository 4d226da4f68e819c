"""Events whose records are still on their way to the broker."""

from asyncio import Future, Semaphore
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

    `on_failure` is called if a record can't be written, once or more: nothing is acknowledged from
    then on. At most `limit` events are open at a time.
    """

    def __init__(self, limit: int, on_failure: Callable[[BaseException], None]) -> None:
        self._on_failure = on_failure
        self._room = Semaphore(limit)
        self._open: deque[_Open] = deque()

    async def add(self, acknowledge: Callable[[], None], writes: Sequence[Future[Any]]) -> None:
        """Calls `acknowledge` when these writes are done, and all that was added before.

        Returns at once, unless too many are open.
        """
        await self._room.acquire()
        self._open.append(_Open(acknowledge, writes))
        for write in writes:
            write.add_done_callback(self._acknowledge_done)
        self._acknowledge_done()

    def _acknowledge_done(self, *_: Future[Any]) -> None:
        while self._open and all(write.done() for write in self._open[0].writes):
            if errors := [error for write in self._open[0].writes if (error := _error(write))]:
                self._on_failure(errors[0])
                return
            self._open.popleft().acknowledge()
            self._room.release()


def _error(write: Future[Any]) -> BaseException | None:
    return ConnectionError("the write was given up") if write.cancelled() else write.exception()
