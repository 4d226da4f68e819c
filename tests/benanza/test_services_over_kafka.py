"""The services over a real broker and ClickHouse's real engine, each a process of its own."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_backbone.clickhouse.rows import rows
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.kafka.topics import create_topics
from benanza_backbone.service.processor import as_message
from benanza_ingest.limits import Limits
from benanza_schemas.codec import decode
from benanza_schemas.events import (
    DeadLetter,
    LayerMeasured,
    ModelIngested,
    ModelPublished,
    SystemMeasured,
    event_id,
)
from benanza_schemas.topics import (
    BOUNDS,
    CHECKPOINTS,
    DEAD_LETTERS,
    GRAPHS,
    JOBS,
    PARTITIONS,
    RESULTS,
)
from tests.backbone.conftest import copy_empty_store
from tests.benanza.data_folder import settings_in
from tests.benanza.embedded_run import FoundBounds, comparable, run_embedded
from tests.benanza.processes import Installation, ServiceProcess, until
from tests.kafka_broker import KafkaBroker
from tests.shared import copied, made_once

pytestmark = pytest.mark.integration

MODELS = ("zoo:shufflenet", "zoo:squeezenet", "zoo:zfnet512")
"""The others of the zoo bring only two more operators that are measured: Add and Mul."""

MEASURED = ("compute", "movement")

SELDOM_S = 1.0
"""Between two questions for all bounds, each of which takes ClickHouse a sixth of a second."""


@pytest.fixture
def installation(kafka: KafkaConnection, tmp_path: Path) -> Installation:
    create_topics(kafka)
    return Installation(kafka, tmp_path)


def publish(installation: Installation, models: Sequence[str]) -> None:
    request = RunRequest(models=())
    asked = [each for model in models for each in asked_models(model, request, Limits())]
    with KafkaEventLog(installation.kafka) as log:
        log.append([as_message(each.event) for each in asked])


class Embedded(NamedTuple):
    """What an embedded run of `MODELS` finds with the same measurements, and its events in the
    order in which they came.
    """

    bounds: FoundBounds
    ingested: list[Message]
    jobs: list[Message]
    results: list[Message]


@pytest.fixture
def embedded(tmp_path: Path) -> Embedded:
    made = made_once("embedded-run", lambda folder: run_embedded(MODELS, folder / "data"))
    data = copied(made / "data", tmp_path / "embedded")
    settings = settings_in(data)
    with Store.open(settings.clickhouse) as store, SqliteEventLog(settings.event_log) as log:
        events = (
            [Message(topic, r.key, r.value) for topic in topics for r in log.records(topic)]
            for topics in ((GRAPHS, CHECKPOINTS), (JOBS,), (RESULTS,))
        )
        return Embedded(comparable(store), *events)


@pytest.fixture
def running() -> Iterator[ExitStack]:
    """What is entered here is ended after the test."""
    with ExitStack() as processes:
        yield processes


def test_the_services_end_in_the_same_bounds_as_the_embedded_run(
    installation: Installation, running: ExitStack, embedded: Embedded
) -> None:
    running.enter_context(installation.start_clickhouse())
    services = [
        running.enter_context(start)
        for start in (
            installation.start("ingest"),
            installation.start("dedupe"),
            installation.start_runner(),
            installation.start("analyzer"),
        )
    ]
    publish(installation, MODELS)
    with Store.open(installation.clickhouse) as store:
        until(lambda: len(store.bounds()) == len(embedded.bounds.bounds), every_s=SELDOM_S)
        until(lambda: comparable(store) == embedded.bounds, every_s=SELDOM_S)
        assert {bound.partial for bound in embedded.bounds.bounds} == {True, False}
    for service in services:
        until(service.ready)
        assert service.stop() == 0, service.errors()


def test_ingesting_a_model_again_is_harmless(
    installation: Installation, running: ExitStack
) -> None:
    running.enter_context(installation.start_clickhouse())
    for service in ("ingest", "analyzer"):
        running.enter_context(installation.start(service))
    with KafkaEventLog(installation.kafka) as log, Store.open(installation.clickhouse) as store:
        publish(installation, ["zoo:squeezenet"])
        until(lambda: count(store, "models") == 1)
        layers = count(store, "model_layers")
        publish(installation, ["zoo:squeezenet", "zoo:alexnet"])
        until(lambda: count(store, "models") == 2)
        (model_id,) = [r["model_id"] for r in store.query(NAMED, {"name": "squeezenet"})]
        assert len(store.query(LAYERS, {"model": model_id})) == layers
        assert list(log.records(DEAD_LETTERS)) == []


LAYERS = "SELECT position FROM model_layers FINAL WHERE model_id = {model:String}"
NAMED = "SELECT model_id FROM models FINAL WHERE name = {name:String}"


def count(store: Store, table: str) -> int:
    (row,) = store.query(f"SELECT count() AS n FROM {table} FINAL")
    return int(row["n"])


def test_a_model_that_cannot_be_fetched_is_a_dead_letter(
    installation: Installation, running: ExitStack
) -> None:
    running.enter_context(installation.start("ingest"))
    event = ModelPublished(
        event_id=event_id("ModelPublished", "lost"),
        name="lost",
        sha256="0" * 64,
        uri="http://127.0.0.1:9/lost.onnx",
    )
    with KafkaEventLog(installation.kafka) as log:
        log.append([as_message(event)])
        until(lambda: len(list(log.records(DEAD_LETTERS))) == 1)
        (record,) = log.records(DEAD_LETTERS)
    letter = decode(record.value)
    assert isinstance(letter, DeadLetter)
    assert (letter.service, decode(letter.value)) == ("ingest", event)
    assert "http://127.0.0.1:9/lost.onnx can't be fetched" in letter.reason


def test_the_sink_loses_and_doubles_nothing_whatever_dies(
    installation: Installation, running: ExitStack, embedded: Embedded
) -> None:
    """The analyzer's process is killed, and ClickHouse goes away, while results come in."""
    expected, ingested, jobs, results = embedded
    # Who dies while it makes the tables leaves a lock on them behind for minutes.
    copy_empty_store(installation.folder / "clickhouse")
    clickhouse = running.enter_context(installation.start_clickhouse())
    analyzer = running.enter_context(installation.start("analyzer"))
    with KafkaEventLog(installation.kafka) as log:
        log.append(ingested + jobs)
        for at in range(0, len(results), 10):
            log.append(results[at : at + 10])
            time.sleep(0.2)
            if at % 30 == 0:
                analyzer.kill()
                analyzer = running.enter_context(installation.start("analyzer"))
            if at % 50 == 0:
                clickhouse.kill()
                time.sleep(1)
                clickhouse = running.enter_context(installation.start_clickhouse())
        until(analyzer.ready)
        with Store.open(installation.clickhouse) as store:
            until(lambda: comparable(store) == expected, every_s=SELDOM_S)
            assert count(store, "measurements") == count_measurements(results)
            bounds = [decode(record.value) for record in log.records(BOUNDS)]
            stored = store.query("SELECT event_id, computed_at FROM bounds")
            assert {row["event_id"] for row in stored} == {event.event_id for event in bounds}
        assert list(log.records(DEAD_LETTERS)) == []
    assert analyzer.stop() == 0


def count_measurements(results: list[Message]) -> int:
    events = [decode(message.value) for message in results]
    return sum(len(rows(event).get("measurements", ())) for event in events)


def test_without_clickhouse_the_analyzer_waits_and_says_so(
    installation: Installation, running: ExitStack, embedded: Embedded
) -> None:
    expected, ingested, jobs, results = embedded
    running.enter_context(installation.start_clickhouse()).kill()
    analyzer = running.enter_context(installation.start("analyzer"))
    with KafkaEventLog(installation.kafka) as log:
        log.append(ingested + jobs + results)
        until(lambda: len(list(log.records(BOUNDS))) > 0)
        status, document = analyzer.page("/readyz")
        assert status == 503
        (sink,) = [check for check in document["checks"] if check["name"] == "sink"]
        assert "no ClickHouse server answers" in sink["detail"]
        assert analyzer.page("/healthz")[0] == 200
        running.enter_context(installation.start_clickhouse())
        until(analyzer.ready)
        with Store.open(installation.clickhouse) as store:
            until(lambda: comparable(store) == expected, every_s=SELDOM_S)
        assert list(log.records(DEAD_LETTERS)) == []


def test_two_analyzers_share_the_architectures_and_the_one_takes_over_from_the_other(
    installation: Installation, running: ExitStack, embedded: Embedded
) -> None:
    expected, ingested, jobs, results = embedded
    running.enter_context(installation.start_clickhouse())
    analyzers = [running.enter_context(installation.start("analyzer")) for _ in range(2)]
    with KafkaEventLog(installation.kafka) as log, Store.open(installation.clickhouse) as store:
        for analyzer in analyzers:
            until(analyzer.ready)
        log.append(ingested + jobs + results[: len(results) // 2])
        # Each holds the results, beside its share of the graphs.
        until(lambda: sum(held(each, "analyzer") for each in analyzers) == PARTITIONS[GRAPHS] + 2)
        until(lambda: len(list(log.records(BOUNDS))) > 0)
        analyzers[0].kill()
        log.append(results[len(results) // 2 :])
        until(lambda: held(analyzers[1], "analyzer") == PARTITIONS[GRAPHS] + 1)
        until(lambda: comparable(store) == expected, every_s=SELDOM_S)
        assert list(log.records(DEAD_LETTERS)) == []


def held(service: ServiceProcess, step: str) -> int:
    """How many partitions that step of it holds."""
    (check,) = [c for c in service.page("/readyz")[1]["checks"] if c["name"] == step]
    return int(check["detail"].split()[1]) if check["detail"].startswith("holds") else 0


def test_runners_of_one_system_share_the_work_and_repeat_none(
    installation: Installation, running: ExitStack
) -> None:
    for service in ("ingest", "dedupe"):
        running.enter_context(installation.start(service))
    runners = [running.enter_context(installation.start_runner()) for _ in range(2)]
    until(lambda: all(held(each, "runner fp32") == PARTITIONS[JOBS] / 2 for each in runners))
    publish(installation, ["zoo:squeezenet", "zoo:zfnet512"])
    with KafkaEventLog(installation.kafka) as log:
        # Of both models: while one is on its way, all jobs of the other may be done.
        until(lambda: ingested(log) == 2 and measured(log) == jobs_of(log) == wanted(log))
        time.sleep(1)
        again = [Message(JOBS, r.key, r.value) for r in log.records(JOBS)]
        log.append(again)
        until(lambda: sum(repeated(runner) for runner in runners) == len(again))
        results = [decode(record.value) for record in log.records(RESULTS)]
        layers = [event for event in results if isinstance(event, LayerMeasured)]
        assert len(layers) == len(again)
        assert any(isinstance(event, SystemMeasured) for event in results)
        assert len({event.environment["process"] for event in layers if event.variants}) == 2


def ingested(log: KafkaEventLog) -> int:
    return len(list(log.records(GRAPHS)))


def wanted(log: KafkaEventLog) -> set[str]:
    """The layers and groups of all models that are to be measured."""
    found: set[str] = set()
    for record in log.records(GRAPHS):
        model = decode(record.value)
        assert isinstance(model, ModelIngested)
        found.update(each.fingerprint for each in model.summaries if each.kind in MEASURED)
        found.update(group.fingerprint for group in model.groups)
    return found


def measured(log: KafkaEventLog) -> set[str]:
    events = [decode(record.value) for record in log.records(RESULTS)]
    return {event.fingerprint for event in events if isinstance(event, LayerMeasured)}


def jobs_of(log: KafkaEventLog) -> set[str]:
    return {record.key.decode() for record in log.records(JOBS)}


def repeated(runner: ServiceProcess) -> float:
    try:
        return runner.metric('jobs_total{outcome="repeated"}')
    except StopIteration:  # none yet
        return 0


@pytest.mark.usefixtures("broker_can_start")
def test_without_a_broker_a_service_waits_and_goes_on(tmp_path: Path, running: ExitStack) -> None:
    broker = KafkaBroker(tmp_path / "broker")
    (tmp_path / "broker").mkdir()
    broker.start()
    running.callback(broker.kill)
    installation = Installation(KafkaConnection(bootstrap=(broker.bootstrap,)), tmp_path)
    ingest = running.enter_context(installation.start("ingest"))
    publish(installation, ["zoo:alexnet"])
    with KafkaEventLog(installation.kafka) as log:
        until(lambda: len(list(log.records(GRAPHS))) == 1)
    until(ingest.ready)
    broker.kill()
    until(lambda: not ingest.ready())
    assert ingest.page("/healthz")[0] == 200
    broker.start()
    publish(installation, ["zoo:squeezenet"])
    with KafkaEventLog(installation.kafka) as log:
        until(lambda: len(list(log.records(GRAPHS))) == 2)
        assert list(log.records(DEAD_LETTERS)) == []
    until(ingest.ready)
    assert ingest.stop() == 0
