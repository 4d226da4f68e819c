"""What the services could not process, and what was done about it."""

from datetime import datetime
from typing import Any, Literal

from benanza.results.result import Result

DeadLetterState = Literal["open", "replayed", "dropped"]


class DeadLetterSummary(Result, frozen=True, kw_only=True):
    """A dead letter: which service could not process which record, why and when.

    `bytes` is the size of the value kept, and `truncated` says that it was too large to be
    kept whole. `settled_at` is null while the state is `open`.
    """

    id: str
    service: str
    topic: str
    partition: int
    offset: int
    key: str
    bytes: int
    truncated: bool
    reason: str
    failed_at: datetime
    state: DeadLetterState
    settled_at: datetime | None


class DeadLetters(Result, frozen=True, kw_only=True):
    """Dead letters, newest first. `log` says which event log was read.

    `found` is how many there are, of which `dead_letters` may be the newest only. `unreadable`
    counts records of the topic that are no dead letter that this version can read.
    """

    log: str
    dead_letters: tuple[DeadLetterSummary, ...]
    found: int
    unreadable: int


class DeadLetterContent(Result, frozen=True, kw_only=True):
    """A dead letter with what it holds: the event if it is one, else `undecodable` says why not.

    `event` is the event's fields, its bytes as base64. `hex` is the original value where it is
    no event.
    """

    dead_letter: DeadLetterSummary
    event: dict[str, Any] | None
    undecodable: str
    hex: str


class UnsettledDeadLetter(Result, frozen=True, kw_only=True):
    """A dead letter that could not be replayed or dropped, and why."""

    id: str
    reason: str


class SettledDeadLetters(Result, frozen=True, kw_only=True):
    """The ids of dead letters that were replayed or dropped now, oldest first; and the others."""

    action: Literal["replayed", "dropped"]
    dead_letters: tuple[str, ...]
    errors: tuple[UnsettledDeadLetter, ...]
