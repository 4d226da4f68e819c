"""The time, as whatever needs it is given it: tests give another one."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Gives the time, in UTC."""


def now() -> datetime:
    """The time by this machine's clock, in UTC."""
    return datetime.now(UTC)
