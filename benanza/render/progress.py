"""How far a run is, for people."""

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

from benanza.render.table import console


class TerminalProgress:
    """A bar for the stage on a terminal, gone when the run ends; nothing in a pipe."""

    def __init__(self, stream: IO[str]) -> None:
        shown = console(stream)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=shown,
            transient=True,
            disable=not shown.is_terminal,
        )
        self._task: TaskID | None = None

    def stage(self, name: str, total: int) -> None:
        """Shows the bar of this stage in place of the last one's."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=total)

    def advance(self, done: int = 1) -> None:
        """Moves the bar."""
        if self._task is not None:
            self._progress.advance(self._task, done)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()
