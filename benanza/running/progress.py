"""Tells whoever wants to know how far a run is."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class RunProgress(Protocol):
    """What the pipeline tells while it runs."""

    def stage(self, name: str, total: int) -> None:
        """A stage begins, with this many steps ahead."""

    def advance(self, done: int = 1) -> None:
        """So many more steps of the stage are done."""


class Silent:
    """Tells nobody."""

    def stage(self, name: str, total: int) -> None:
        """Nothing."""

    def advance(self, done: int = 1) -> None:
        """Nothing."""


Opened = Callable[[], AbstractContextManager[RunProgress]]


def _silent() -> AbstractContextManager[RunProgress]:
    return nullcontext(Silent())


_opened: Opened = _silent


def show_progress(opened: Opened) -> None:
    """Has this process show the progress of what takes long and wasn't asked for by itself, such as
    storing what was imported before a look.
    """
    global _opened
    _opened = opened


def shown() -> AbstractContextManager[RunProgress]:
    """Where such progress is told: nowhere, unless `show_progress` was called."""
    return _opened()
