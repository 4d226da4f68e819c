"""One campaign: poison among good models, and after it a model for services that start anew."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kafka.admin import ConfigResource, ConfigResourceType

from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_backbone.closing import Closing
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.readable import readable
from benanza_backbone.kafka.clients import AdminClient
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.kafka.topics import create_topics
from benanza_backbone.service.processor import as_message
from benanza_ingest.limits import Limits
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.consumer_groups import (
    AGENT,
    ANALYZER,
    CONSUMER_GROUPS,
    DEDUPE,
    INGEST,
    RUNNER,
    is_of,
)
from benanza_schemas.events import BoundUpdated, DeadLetter, ModelIngested, ModelPublished
from benanza_schemas.topics import BOUNDS, DEAD_LETTERS, GRAPHS, TOPICS
from tests.benanza.processes import Installation, ServiceProcess
from tests.chaos.models import write_models
from tests.chaos.progress import Progress
from tests.kafka_broker import KafkaBroker
from tests.poison.memory import MemoryWatch, limits_bytes
from tests.poison.records import Poison, poison
from tests.poison.sending import Place, Sender

SERVICES = (INGEST, DEDUPE, RUNNER, ANALYZER)
PATIENCE_S = 600.0
GOOD_EVERY = 5
"""So many records of poison come between two models: where most fail, a service stops."""

KEPT_COMPRESSED = {"compression.type": "producer"}
"""How topics are that others made; half of them are so."""


class Report(NamedTuple):
    """What became of the records: by kind and outcome how many, and what each service took.

    `wrong` is what must not be.
    """

    seed: int
    records: int
    models: int
    seconds: float
    outcomes: Mapping[tuple[str, str], int]
    peaks_bytes: Mapping[str, int]
    wrong: Sequence[str]


class Sent(NamedTuple):
    """A record and where it stands, or why the broker refused it; and whether no service can take
    it.
    """

    number: int
    kind: str
    place: Place | str
    must_fail: bool


def campaign(folder: Path, records: int, seed: int) -> Report:
    """Runs one in an empty folder."""
    began = time.monotonic()
    models = records // GOOD_EVERY + 2
    good = [_published(file) for file in write_models(folder / "models", models, seed)]
    with ExitStack() as held:
        broker = KafkaBroker(folder / "kafka")
        (folder / "kafka").mkdir()
        held.callback(broker.kill)
        broker.start()
        kafka = KafkaConnection(bootstrap=(broker.bootstrap,))
        create_topics(kafka)
        kept = random.Random(seed).sample(TOPICS, len(TOPICS) // 2)
        _keep_compressed(kafka, kept)
        installation = Installation(kafka, folder)
        held.enter_context(installation.start_clickhouse())
        log = held.enter_context(KafkaEventLog(kafka))
        progress = held.enter_context(Progress(kafka, time.monotonic))
        with _Services(installation) as services:
            sent = list(_send_all(kafka, log, seed, records, good[:-1], kept))
            wrong = services.waited(progress.quiet, "don't come to an end")
            wrong += services.findings()
            peaks = services.peaks_bytes()
        with _Services(installation) as services:
            log.append([as_message(good[-1])])
            has_bound = partial(_has_bound, log, good[-1])
            wrong += services.waited(has_bound, "find no bound after a restart")
            wrong += services.waited(progress.quiet, "don't come to an end after a restart")
            wrong += services.findings()
            for name, peak in services.peaks_bytes().items():
                peaks[name] = max(peaks[name], peak)
        wrong += _over(peaks)
        if broker.status() is not None:
            wrong.append("the broker has ended")
        letters = _dead_letters(log)
        outcomes: Counter[tuple[str, str]] = Counter()
        for each in sent:
            outcome = _outcome(each, letters)
            outcomes[each.kind, outcome] += 1
            if outcome == TAKEN and each.must_fail:
                where = f"{each.number} ({each.kind}) at {each.place}"
                wrong.append(f"record {where} has no dead letter")
    seconds = time.monotonic() - began
    return Report(seed, records, models, seconds, outcomes, peaks, wrong)


REFUSED, DEAD, TAKEN, UNREAD = "refused by the broker", "dead letters", "taken", "read by nobody"


class _Services(Closing):
    """All of them, watched."""

    def __init__(self, installation: Installation) -> None:
        self._running: dict[str, ServiceProcess] = {}
        with ExitStack() as held:
            for name in SERVICES:
                runs = name == RUNNER
                service = installation.start_runner() if runs else installation.start(name)
                self._running[name] = held.enter_context(service)
            pids = {name: service.pid for name, service in self._running.items()}
            self._watch = held.enter_context(MemoryWatch(pids))
            self._held = held.pop_all()

    def close(self) -> None:
        self._held.close()

    def waited(self, so: Callable[[], bool], otherwise: str) -> list[str]:
        """Returns when it is so, or else when one has ended or patience has: what is wrong then."""
        deadline = time.monotonic() + PATIENCE_S
        while not so():
            ended = any(each.status() is not None for each in self._running.values())
            if ended or time.monotonic() > deadline:
                return [f"the services {otherwise}"]
            time.sleep(0.5)
        return []

    def peaks_bytes(self) -> dict[str, int]:
        return dict(self._watch.peaks_bytes)

    def findings(self) -> Iterator[str]:
        """Which have ended, or aren't ready any more."""
        for name, service in self._running.items():
            if (status := service.status()) is not None:
                said = service.errors()[-1000:]
                yield f"{name} has ended with status {status}: {said}"
            elif not service.ready():
                yield f"{name} isn't ready: {service.page('/readyz')[1]}"


def _published(file: Path) -> ModelPublished:
    (asked,) = asked_models(str(file), RunRequest(models=()), Limits())
    return asked.event


def _keep_compressed(kafka: KafkaConnection, topics: Sequence[str]) -> None:
    with AdminClient(kafka) as admin:
        admin.alter_configs(
            [
                ConfigResource(ConfigResourceType.TOPIC, kafka.topic(topic), KEPT_COMPRESSED)
                for topic in topics
            ]
        )


def _send_all(
    kafka: KafkaConnection,
    log: EventLog,
    seed: int,
    records: int,
    good: Sequence[ModelPublished],
    kept_compressed: Sequence[str],
) -> Iterator[Sent]:
    left = iter(good)
    with Sender(kafka) as sender:
        for number in range(records):
            if number % GOOD_EVERY == 0:
                log.append([as_message(next(left))])
            each = poison(seed, number)
            must_fail = _must_fail(each, kept_compressed)
            yield Sent(number, each.kind, sender.send(each), must_fail)


def _over(peaks_bytes: Mapping[str, int]) -> list[str]:
    return [
        f"{name} took {peaks_bytes[name]:,} bytes, and may take {limit:,}"
        for name, limit in limits_bytes(SERVICES).items()
        if peaks_bytes[name] > limit
    ]


def _has_bound(log: EventLog, model: ModelPublished) -> bool:
    architectures = {
        event.architecture_id
        for _, event in readable(log, GRAPHS)
        if isinstance(event, ModelIngested) and event.sha256 == model.sha256
    }
    return any(
        isinstance(event, BoundUpdated)
        and event.architecture_id in architectures
        and event.measured
        for _, event in readable(log, BOUNDS)
    )


def _dead_letters(log: EventLog) -> set[tuple[str, Place]]:
    """Of which service, and of which record."""
    return {
        (name, Place(letter.topic, letter.partition, letter.offset))
        for _, letter in readable(log, DEAD_LETTERS)
        if isinstance(letter, DeadLetter)
        for name in CONSUMER_GROUPS
        if is_of(letter.service, name)
    }


def _outcome(sent: Sent, letters: set[tuple[str, Place]]) -> str:
    if isinstance(sent.place, str):
        return REFUSED
    readers = _readers(sent.place.topic)
    if not readers:
        return UNREAD
    failed = [(reader, sent.place) in letters for reader in readers]
    return DEAD if any(failed) else TAKEN


def _readers(topic: str) -> list[str]:
    return [
        name
        for name, (_, topics, whole) in CONSUMER_GROUPS.items()
        if topic in (*topics, *whole) and name != AGENT  # None is at work.
    ]


def _must_fail(each: Poison, kept_compressed: Sequence[str]) -> bool:
    if each.codec and each.topic in kept_compressed:
        return True
    try:
        decode(each.value or b"")
    except DecodeError:
        return True
    return False
