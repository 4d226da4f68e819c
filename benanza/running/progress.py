"""Tells whoever wants to know how far a run is."""

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
