"""What do the shells around the cores cost, against bare consume-and-produce loops of kafka-python?

Twice, on one real broker and in turns. *Passing on*: each record becomes one other, and the shell
is `Step` over `KafkaEventLog` with a core that does nothing; the bare loop does or doesn't decode
what it passes on. *Ingest*: the nine models over and over, and the bare loop calls ingest's core
itself, in its own process. Bare loops poll, send, wait for the broker to have it, and commit, as
many records at a time as the service does.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from kafka import KafkaConsumer, KafkaProducer
from rich.console import Console
from rich.table import Table

from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_analyzer.service import ANALYZED_AT_ONCE
from benanza_backbone.clock import now
from benanza_backbone.event_log.event_log import Message, Record
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.kafka.topics import create_topics
from benanza_backbone.service.processor import as_message
from benanza_backbone.service.step import Step
from benanza_ingest.isolation.isolated_ingest import IsolatedIngest
from benanza_ingest.limits import Limits
from benanza_ingest.published import ingest_published
from benanza_ingest.reading.zoo import zoo_names
from benanza_ingest.service import AT_ONCE
from benanza_ingest.step import ingest_step
from benanza_schemas.codec import decode
from benanza_schemas.consumer_groups import ConsumerGroup
from benanza_schemas.events import BenchmarkRequested, LayerSeen, ModelPublished
from benanza_schemas.topics import JOBS, LAYERS, MODELS
from benchmarks.dedupe import layer_events
from tests.kafka_broker import KafkaBroker, lacking

RECORDS = 20_000
MODELS_EACH = 10
ROUNDS = 5
WANTED = 0.8
LIMITS = Limits()

Produce = Callable[[Record], Sequence[Message]]
"""What a bare loop sends for a record."""


def main() -> None:
    """Prints the rates, and their ratios."""
    if reason := lacking():
        raise SystemExit(reason)
    models = [
        as_message(asked.event)
        for name in zoo_names()
        for asked in asked_models(f"zoo:{name}", RunRequest(models=()), LIMITS)
    ]
    layers = layer_events(RECORDS, 1)
    published = models * MODELS_EACH
    table = Table(title=f"medians of {ROUNDS} rounds")
    for column in ("", "a second", "the shell / this", "rounds"):
        table.add_column(column, justify="right")
    with ExitStack() as held:
        broker = KafkaBroker(Path(held.enter_context(TemporaryDirectory(prefix="benanza-bench-"))))
        broker.start()
        held.callback(broker.stop)
        ingest = held.enter_context(IsolatedIngest())

        def ingest_shell(log: KafkaEventLog) -> Step:
            return ingest_step(log, LIMITS, now, ingest)

        _compare(
            table,
            broker.bootstrap,
            layers,
            {
                "passing on: the shell": lambda k: _shell_s(k, _pass_on, ANALYZED_AT_ONCE, RECORDS),
                "a bare loop": lambda k: _bare_s(k, LAYERS, _copy, ANALYZED_AT_ONCE, RECORDS),
                "a bare loop that decodes": lambda k: _bare_s(
                    k, LAYERS, _decode_and_copy, ANALYZED_AT_ONCE, RECORDS
                ),
            },
        )
        count = len(published)
        _compare(
            table,
            broker.bootstrap,
            published,
            {
                "ingest: the shell": lambda k: _shell_s(k, ingest_shell, AT_ONCE, count),
                "a bare loop with its core": lambda k: _bare_s(k, MODELS, _ingest, AT_ONCE, count),
            },
        )
    table.caption = f"wanted: {WANTED} of the bare loop"
    Console().print(table)


def _compare(
    table: Table,
    bootstrap: str,
    messages: list[Message],
    sides: dict[str, Callable[[KafkaConnection], float]],
) -> None:
    """Runs the sides in turns, each over topics of its own; the first is what the others are
    compared with."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, side in sides.items():
            kafka = KafkaConnection(bootstrap=(bootstrap,), prefix=f"{uuid4().hex}-")
            create_topics(kafka)
            with KafkaEventLog(kafka) as log:
                for start in range(0, len(messages), 1000):
                    log.append(messages[start : start + 1000])
            seconds[name].append(side(kafka))
    first = next(iter(sides))
    for name in sides:
        ratios = [bare / shell for bare, shell in zip(seconds[name], seconds[first], strict=True)]
        table.add_row(
            name,
            f"{len(messages) / statistics.median(seconds[name]):,.0f}",
            f"{statistics.median(ratios):.2f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}",
        )
    table.add_section()


def _pass_on(log: KafkaEventLog) -> Step:
    def handle(event: LayerSeen) -> list[BenchmarkRequested]:
        return [
            BenchmarkRequested(
                event_id=event.event_id, fingerprint=event.fingerprint, layer=event.layer
            )
        ]

    return Step(log, ConsumerGroup("shell", (LAYERS,)), LayerSeen, handle, now)


def _copy(record: Record) -> list[Message]:
    return [Message(JOBS, record.key, record.value)]


def _decode_and_copy(record: Record) -> list[Message]:
    decode(record.value)
    return _copy(record)


def _ingest(record: Record) -> list[Message]:
    published = decode(record.value)
    assert isinstance(published, ModelPublished)
    return [as_message(event) for event in ingest_published(published, LIMITS)]


def _shell_s(
    kafka: KafkaConnection, shell: Callable[[KafkaEventLog], Step], limit: int, records: int
) -> float:
    with KafkaEventLog(kafka) as log, shell(log) as step:
        done = 0
        while not done:
            done = step.turn(limit, 1.0)
        began, first = time.perf_counter(), done
        while done < records:
            done += step.turn(limit, 1.0)
        return (time.perf_counter() - began) * records / (records - first)


def _bare_s(
    kafka: KafkaConnection, topic: str, produce: Produce, limit: int, records: int
) -> float:
    consumer = KafkaConsumer(
        kafka.topic(topic),
        bootstrap_servers=list(kafka.bootstrap),
        group_id=kafka.group("bare"),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    producer = KafkaProducer(
        bootstrap_servers=list(kafka.bootstrap), acks="all", enable_idempotence=True
    )
    began, first, done = 0.0, 0, 0
    while done < records:
        polled = consumer.poll(timeout_ms=1000, max_records=limit)
        sent = [
            producer.send(kafka.topic(message.topic), key=message.key, value=message.value)
            for fetched in polled.values()
            for record in fetched
            for message in produce(record)
        ]
        for future in sent:
            future.get(timeout=30)
        if polled:
            consumer.commit()
        done += sum(map(len, polled.values()))
        if done and not first:
            began, first = time.perf_counter(), done
    seconds = time.perf_counter() - began
    producer.close()
    consumer.close()
    return seconds * records / (records - first)


if __name__ == "__main__":
    main()
