"""How far a command is, for people."""

from contextlib import suppress
from threading import Event, Lock, Thread
from types import TracebackType
from typing import IO, Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from benanza.render.table import console, printable

LINE_EVERY_S = 10.0
"""Seconds between two lines in a pipe."""


class TerminalProgress:
    """A bar for the stage on a terminal, from the first one on, gone when the run ends."""

    def __init__(self, stream: IO[str]) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console(stream),
            transient=True,
        )
        self._task: TaskID | None = None

    def stage(self, name: str, total: int) -> None:
        """Shows the bar of this stage in place of the last one's."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._progress.start()
        self._task = self._progress.add_task(name, total=total)

    def advance(self, done: int = 1) -> None:
        """Moves the bar."""
        if self._task is not None:
            self._progress.advance(self._task, done)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()


class PipeProgress:
    """A line every so many seconds, by a thread of its own: one layer may take a minute."""

    def __init__(self, stream: IO[str], every_s: float = LINE_EVERY_S) -> None:
        self._stream = stream
        self._every_s = every_s
        self._lock = Lock()
        self._ended = Event()
        self._thread = Thread(target=self._run, name="progress", daemon=True)
        self._name, self._done, self._total = "", 0, 0

    def stage(self, name: str, total: int) -> None:
        """The next lines are of this stage."""
        with self._lock:
            self._name, self._done, self._total = name, 0, total

    def advance(self, done: int = 1) -> None:
        """So many more steps of the stage are done."""
        with self._lock:
            self._done += done

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._every_s):
            with self._lock:
                name, done, total = self._name, self._done, self._total
            # Whoever reads the pipe may have gone.
            with suppress(OSError):
                if name:
                    line = f"{printable(name)}: {done:,} of {total:,}"
                    print(line, file=self._stream, flush=True)


def progress_on(stream: IO[str]) -> TerminalProgress | PipeProgress:
    """What shows progress there: a bar on a terminal, lines in a pipe."""
    return TerminalProgress(stream) if stream.isatty() else PipeProgress(stream)
