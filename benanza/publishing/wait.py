"""`publish --wait`: until the services have made bounds of what was published."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

from benanza.operating.progress_in_store import progress_in_store
from benanza.results.publish import PublishedModel, UnpublishedModel
from benanza.running.progress import RunProgress
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.event_log.event_log import EventLog, Partition
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.errors import CoordinatorAwaitedError
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.kafka.members import members_of_groups
from benanza_backbone.settings import Settings, kafka_of
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.consumer_groups import (
    ANALYZER,
    CONSUMER_GROUPS,
    RUNNER,
    SINK,
    is_of,
)
from benanza_schemas.events import AnyEvent, CheckpointIngested, DeadLetter
from benanza_schemas.topics import CHECKPOINTS, DEAD_LETTERS, MODELS

Asked = TypeVar("Asked")

EVERY_S = 2.0
"""Seconds between two looks."""

JOBS_GROUP = CONSUMER_GROUPS[RUNNER].name

INGESTED = """
SELECT uniqExact(model_id) AS models
FROM models
WHERE model_id IN {ids:Array(String)}
  AND name = {name:String}
  AND architecture_id IN (SELECT architecture_id FROM architectures)
"""


@contextmanager
def awaiting(settings: Settings) -> Iterator["Awaiting"]:
    """To be entered before models are published, so that what is wrong is said before.

    Raises `BenanzaError` if Kafka or the store can't be had.
    """
    kafka = kafka_of(settings)
    with (
        KafkaEventLog(kafka) as log,
        Store.open(settings.clickhouse, migrates=False) as store,
    ):
        yield Awaiting(kafka, log, store)


class Awaiting:
    """Waits for the services. Its methods raise `BenanzaError` as log and store do."""

    def __init__(self, kafka: KafkaConnection, log: EventLog, store: Store) -> None:
        self._kafka = kafka
        self._log = log
        self._store = store
        self._since = {t: dict(log.end_offsets(t)) for t in (CHECKPOINTS, DEAD_LETTERS)}
        self._shown = "", 0, 0

    def bounds(
        self, models: Sequence[PublishedModel], progress: RunProgress
    ) -> tuple[UnpublishedModel, ...]:
        """Returns when each runner that is at work has tried all layers of these models, and the
        bounds that follow are in the store. If no runner is at work, it waits for one.

        Returns the models that ingest could not process, with the reasons.
        """
        failed = self._ingest(models, progress)
        for model in models:
            if model.event_id not in failed:
                self._measure(model, progress)
        # The analyzer, and then the sink, take all that was there.
        for number, service in enumerate((ANALYZER, SINK)):
            self._show(progress, "storing bounds", number, 2)
            while sum(_settled(partial(self._log.waiting, *CONSUMER_GROUPS[service])).values()):
                time.sleep(EVERY_S)
        return tuple(
            UnpublishedModel(model=model.model, reason=failed[model.event_id])
            for model in models
            if model.event_id in failed
        )

    def _ingest(self, models: Sequence[PublishedModel], progress: RunProgress) -> dict[str, str]:
        """Until each model is ingested or a dead letter; why those are, by the ids of events."""
        reasons: dict[str, str] = {}
        ids: dict[str, set[str]] = defaultdict(set)
        while True:
            reasons |= _reasons(self._log, self._since[DEAD_LETTERS])
            for event, models_of in _ingested(self._log, self._since[CHECKPOINTS]).items():
                ids[event] |= models_of
            done = sum(
                model.event_id in reasons or self._is_stored(model, ids[model.event_id])
                for model in models
            )
            self._show(progress, "ingesting models", done, len(models))
            if done == len(models):
                return reasons
            time.sleep(EVERY_S)

    def _measure(self, model: PublishedModel, progress: RunProgress) -> None:
        """Until the runners at work have tried all layers of the model."""
        while True:
            members = _settled(partial(members_of_groups, self._kafka))
            at_work = [name for name, count in members.items() if count and is_of(name, RUNNER)]
            so_far = progress_in_store(self._store, model.sha256)
            tried = {
                f"{JOBS_GROUP}.{runner.system_id}.{runner.precision}": runner.done + runner.failed
                for runner in so_far.runners
            }
            done = sum(tried.get(name, 0) for name in at_work)
            total = so_far.layers * len(at_work)
            if at_work:
                self._show(progress, f"measuring layers of {model.name}", done, total)
                if done == total:
                    return
            else:
                self._show(progress, "waiting for a runner", 0, 1)
            time.sleep(EVERY_S)

    def _is_stored(self, model: PublishedModel, ids: Collection[str]) -> bool:
        """Whether ingest made a model of each batch size, of these ids, and the store has them."""
        wanted = max(1, len(set(model.batch_sizes)))
        if len(ids) < wanted:
            return False
        (row,) = self._store.query(INGESTED, {"ids": sorted(ids), "name": model.name})
        return int(row["models"]) >= wanted

    def _show(self, progress: RunProgress, stage: str, done: int, total: int) -> None:
        before, advanced, of = self._shown
        if (stage, total) != (before, of) or done < advanced:
            progress.stage(stage, total)
            advanced = 0
        progress.advance(done - advanced)
        self._shown = stage, done, total


def _settled(ask: Callable[[], dict[Asked, int]]) -> dict[Asked, int]:
    """What is answered about groups, once the brokers know which of them coordinates each: as one
    of them ends or starts, they don't for some seconds.
    """
    while True:
        try:
            return ask()
        except CoordinatorAwaitedError:
            time.sleep(EVERY_S)


def _reasons(log: EventLog, since: dict[Partition, int]) -> dict[str, str]:
    """Why published models became dead letters since then, by the ids of their events."""
    reasons = {}
    for letter in _written(log, DEAD_LETTERS, since):
        if isinstance(letter, DeadLetter) and letter.topic == MODELS:
            with suppress(DecodeError):
                reasons[decode(letter.value).event_id] = letter.reason
    return reasons


def _ingested(log: EventLog, since: dict[Partition, int]) -> dict[str, set[str]]:
    """The ids of the models that ingest made since then, by the ids of the published events."""
    ids: dict[str, set[str]] = defaultdict(set)
    for checkpoint in _written(log, CHECKPOINTS, since):
        if isinstance(checkpoint, CheckpointIngested):
            ids[checkpoint.published_id].add(checkpoint.model_id)
    return ids


def _written(log: EventLog, topic: str, since: dict[Partition, int]) -> Iterator[AnyEvent]:
    """The events of a topic since then, which becomes now. `dead-letters list` counts what is no
    event.
    """
    for partition in log.end_offsets(topic):
        since.setdefault(partition, 0)  # the topic may have got more partitions
        while records := log.read(partition, since[partition], 100):
            since[partition] = records[-1].offset + 1
            for record in records:
                with suppress(DecodeError):
                    yield decode(record.value)
