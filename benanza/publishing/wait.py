"""`publish --wait`: until the services have made bounds of what was published."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from benanza_schemas.events import DeadLetter
from benanza_schemas.topics import DEAD_LETTERS, MODELS

Asked = TypeVar("Asked")

EVERY_S = 2.0
"""Seconds between two looks."""

JOBS_GROUP = CONSUMER_GROUPS[RUNNER].name

INGESTED = """
SELECT uniqExact(model_id) AS models
FROM models
WHERE sha256 = {sha256:String} AND name = {name:String}
  AND (empty({batches:Array(UInt64)}) OR has({batches:Array(UInt64)}, batch))
  AND arrayAll((dim, size) -> dims[dim] = size, {dims:Array(String)}, {sizes:Array(UInt64)})
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
        self._since = log.end_offsets(DEAD_LETTERS)
        self._shown = "", 0, 0

    def bounds(
        self, models: Sequence[PublishedModel], progress: RunProgress
    ) -> tuple[UnpublishedModel, ...]:
        """Returns when each runner that is at work has tried all layers of these models, and the
        bounds that follow are in the store. If no runner is at work, it waits for one.

        Returns the models that ingest could not process, with the reasons.
        """
        failed = self._ingest(models, progress)
        given_up = {failure.model for failure in failed}
        for model in models:
            if model.model not in given_up:
                self._measure(model, progress)
        # The analyzer, and then the sink, take all that was there.
        for number, service in enumerate((ANALYZER, SINK)):
            self._show(progress, "storing bounds", number, 2)
            while sum(_settled(partial(self._log.waiting, *CONSUMER_GROUPS[service])).values()):
                time.sleep(EVERY_S)
        return failed

    def _ingest(
        self, models: Sequence[PublishedModel], progress: RunProgress
    ) -> tuple[UnpublishedModel, ...]:
        """Until each model is ingested or a dead letter; those."""
        while True:
            reasons = _reasons(self._log, self._since)
            failed = [model for model in models if model.event_id in reasons]
            there = [model for model in models if model not in failed and self._is_ingested(model)]
            done = len(there) + len(failed)
            self._show(progress, "ingesting models", done, len(models))
            if done == len(models):
                return tuple(
                    UnpublishedModel(model=model.model, reason=reasons[model.event_id])
                    for model in failed
                )
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

    def _is_ingested(self, model: PublishedModel) -> bool:
        parameters = {
            "sha256": model.sha256,
            "name": model.name,
            "batches": list(model.batch_sizes),
            "dims": list(model.dims),
            "sizes": list(model.dims.values()),
        }
        (row,) = self._store.query(INGESTED, parameters)
        return int(row["models"]) >= max(1, len(model.batch_sizes))

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


def _reasons(log: EventLog, since: Mapping[Partition, int]) -> dict[str, str]:
    """Why published models became dead letters since then, by the ids of their events."""
    reasons = {}
    for partition in log.end_offsets(DEAD_LETTERS):
        offset = since.get(partition, 0)  # the topic may have got more partitions
        while records := log.read(partition, offset, 100):
            offset = records[-1].offset + 1
            for record in records:
                try:
                    letter = decode(record.value)
                    if isinstance(letter, DeadLetter) and letter.topic == MODELS:
                        reasons[decode(letter.value).event_id] = letter.reason
                except DecodeError:
                    continue  # `dead-letters list` counts these.
    return reasons
