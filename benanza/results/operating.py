"""What the commands for operators have done."""

from benanza.results.result import Result


class MadeTopics(Result, frozen=True, kw_only=True):
    """The topics that were made; those that were there already are left out."""

    made: tuple[str, ...]


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
    """How many layers are to be measured again.

    `waiting` were asked for before, and have no newer result. `without_job` failed as well, but
    their jobs are not in this log, since their results came from another installation.
    """

    layers: int
    waiting: int
    without_job: int


class PrunedLog(Result, frozen=True, kw_only=True):
    """How many events were taken out of the embedded log, and the size of its file in bytes."""

    events: int
    bytes_before: int
    bytes_after: int


class SeededLayers(Result, frozen=True, kw_only=True):
    """How many layers were announced to the dedupe service."""

    layers: int
