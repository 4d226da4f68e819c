"""What the commands for publishers and operators give back: typed, and as the JSON documents."""

from datetime import datetime
from typing import Any, Literal

from benanza.results import Result


class MadeTopics(Result, frozen=True, kw_only=True):
    """The topics that were made; those that were there already are left out."""

    made: tuple[str, ...]


class PublishedModel(Result, frozen=True, kw_only=True):
    """A model that was published.

    `model` is as it was named, or where it stands in a listing. `inline` says that the file
    travels in the event; else the services fetch it from `uri`. `batch_sizes` empty means the
    model's own, and 1 where it leaves that open. `warning` is empty, or says what to see to.
    """

    model: str
    name: str
    zoo: str
    sha256: str
    uri: str
    inline: bool
    batch_sizes: tuple[int, ...]
    dims: dict[str, int]
    event_id: str
    warning: str


class UnpublishedModel(Result, frozen=True, kw_only=True):
    """A model that could not be published, and why."""

    model: str
    reason: str


class Published(Result, frozen=True, kw_only=True):
    """What was published, and what was not, each in the order in which it was named."""

    models: tuple[PublishedModel, ...]
    errors: tuple[UnpublishedModel, ...]

    def _repr_html_(self) -> str:
        from benanza.render.publishing import published_html

        return published_html(self)


class Imported(Result, frozen=True, kw_only=True):
    """What recorded measurements there were of how many systems, and how many of them were new."""

    systems: int
    measurements: int
    new: int


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
    """Dead letters, newest first.

    `found` is how many there are, of which `dead_letters` may be the newest only. `unreadable`
    counts records of the topic that are no dead letter that this version can read.
    """

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


class MovedOffset(Result, frozen=True, kw_only=True):
    """Where a group goes on in a partition: `before` and now."""

    topic: str
    partition: int
    before: int
    after: int


class Replay(Result, frozen=True, kw_only=True):
    """The committed offsets of a service's group, each partition that it reads."""

    service: str
    group: str
    partitions: tuple[MovedOffset, ...]


class RetriedLayers(Result, frozen=True, kw_only=True):
    """How many layers are to be measured again. `waiting` were asked for before, and have no newer
    result. `without_job` failed, and have no job in the log to ask for again: their results came
    from another installation.
    """

    layers: int
    waiting: int
    without_job: int


class SeededLayers(Result, frozen=True, kw_only=True):
    """How many layers the dedupe service was told of."""

    layers: int
