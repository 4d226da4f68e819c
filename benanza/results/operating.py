"""What the commands for operators have done, and what `status` has found."""

from datetime import datetime
from typing import ClassVar

from benanza.results.result import Result


class MadeTopics(Result, frozen=True, kw_only=True):
    """The topics that were made, and those that were there and whose setting of compression was
    changed.
    """

    made: tuple[str, ...]
    altered: tuple[str, ...]


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


class ForgottenModel(Result, frozen=True, kw_only=True):
    """A model that is shown no more: what it was called, its id and its sizes."""

    model: str
    model_id: str
    batch: int
    dims: dict[str, int]


class ForgottenModels(Result, frozen=True, kw_only=True):
    """What `benanza forget` has taken out."""

    _rows: ClassVar[str] = "models"

    models: tuple[ForgottenModel, ...]


class SeededLayers(Result, frozen=True, kw_only=True):
    """How many layers were announced to the dedupe service."""

    layers: int


class RunnerStatus(Result, frozen=True, kw_only=True):
    """What one system has measured at one precision of the layers asked about.

    `done` have a time, `failed` were tried and have none, `waiting` were not tried there, but none
    waits where only a suite was timed. `members`
    is the number of runners at work, null on an embedded log, which doesn't know. `last_layer` are
    the operators of what was measured last, whether it was asked about or not; it and `system` are
    empty where nothing was measured.
    """

    system_id: str
    system: str
    runtime: str
    precision: str
    members: int | None
    done: int
    failed: int
    waiting: int
    last_layer: str
    last_measured_at: datetime | None


class ServiceStatus(Result, frozen=True, kw_only=True):
    """A consumer group: how many records it has not committed yet, and how many processes are
    members of it, null on an embedded log.
    """

    service: str
    group: str
    waiting: int
    members: int | None


class OpenDeadLetters(Result, frozen=True, kw_only=True):
    """How many dead letters of a service, for records of one topic, are open."""

    service: str
    topic: str
    letters: int


class Status(Result, frozen=True, kw_only=True):
    """How far an installation is, with all models or, where `model` isn't empty, with this one.

    `log` is where the events are: a file, or Kafka's brokers. `at_work` says whether another
    process has the embedded folder, null over Kafka. `ingested` counts models, one for each file,
    batch size and choice of dimensions; `layers` the unique layers and groups to be measured.
    Services and dead letters are those of all models.
    """

    _rows: ClassVar[str] = "runners"

    log: str
    at_work: bool | None
    model: str
    ingested: int
    layers: int
    runners: tuple[RunnerStatus, ...]
    services: tuple[ServiceStatus, ...]
    dead_letters: tuple[OpenDeadLetters, ...]
