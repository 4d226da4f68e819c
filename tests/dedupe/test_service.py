"""The service as a process, over a real broker: killed at any moment, it loses nothing."""

import os
import random
import re
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from kafka import KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.partitioner.default import murmur2

from benanza_backbone.event_log.event_log import EventLog, Message
from benanza_backbone.kafka.clients import AdminClient
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.kafka.topics import create_topics
from benanza_backbone.service.circuit_breaker import MAX_IN_A_ROW
from benanza_backbone.service.processor import as_message
from benanza_dedupe.worker import STARTING_S
from benanza_schemas.codec import decode
from benanza_schemas.events import BenchmarkRequested, DeadLetter, LayerKnown, event_id
from benanza_schemas.topics import DEAD_LETTERS, DEDUPE_OWNERS, JOBS, LAYERS, PARTITIONS
from tests.benanza.processes import Installation, ServiceProcess, until
from tests.chaos.machine import Disk, disks_refused
from tests.dedupe.layer_events import layers, written
from tests.dedupe.test_core import chain, seen
from tests.kafka_broker import KafkaBroker
from tests.secured_broker import secured_broker

pytestmark = pytest.mark.integration

AT_WORK_AGAIN_S = 20.0
CONSUMED = 'records_consumed_total{topic="layers"}'


@pytest.fixture
def log(kafka: KafkaConnection) -> Iterator[EventLog]:
    with KafkaEventLog(kafka) as log:
        yield log


def jobs(log: EventLog) -> list[BenchmarkRequested]:
    events = [decode(value) for value in written(log, JOBS)]
    assert all(isinstance(event, BenchmarkRequested) for event in events)
    return [event for event in events if isinstance(event, BenchmarkRequested)]


def consumed(service: ServiceProcess) -> float:
    try:
        return service.metric(CONSUMED)
    except StopIteration:  # it has consumed nothing yet
        return 0


def has_begun(service: ServiceProcess) -> bool:
    return consumed(service) > 0


def is_done(service: ServiceProcess) -> bool:
    """Whether nothing waits in any partition."""
    try:
        lags = [service.metric(lag_of(partition)) for partition in range(PARTITIONS[LAYERS])]
    except StopIteration:  # it hasn't looked yet
        return False
    return service.ready() and not any(lags)


def lag_of(partition: int) -> str:
    return f'consumer_lag_records{{group="dedupe",partition="{partition}",topic="layers"}}'


def assert_each_has_its_job(log: EventLog, numbers: range) -> None:
    """None is lost, and repeats can be told by their id."""
    found = jobs(log)
    wanted = {seen(chain(("Relu",), number + 1), "").fingerprint for number in numbers}
    assert {job.fingerprint for job in found} == wanted
    assert all(job.event_id == event_id("BenchmarkRequested", job.fingerprint) for job in found)


def test_layers_become_jobs_and_the_rest_dead_letters(
    kafka: KafkaConnection, log: EventLog, tmp_path: Path
) -> None:
    known = seen(chain(("Tanh",), 1), "").fingerprint
    log.append(
        [
            *layers(range(50), "a"),
            *layers(range(25, 75), "b"),
            Message(LAYERS, b"some key", b"\xc1 no event"),
            as_message(LayerKnown(event_id=event_id("LayerKnown", known), fingerprint=known)),
        ]
    )
    with Installation(kafka, tmp_path).start("dedupe") as service:
        until(lambda: consumed(service) == 102)
        # It comes after what says that it is known: they have the same key.
        log.append([as_message(seen(chain(("Tanh",), 1), "c")), *layers(range(75, 76), "c")])
        until(lambda: consumed(service) == 104)
        assert service.ready()
        assert service.metric('layers_total{outcome="new"}') == 76
        assert service.metric('layers_total{outcome="known"}') == 26
        # It counts what is durable, which comes later.
        until(lambda: service.metric('records_produced_total{topic="jobs"}') == 76)
        until(lambda: is_done(service))
        assert service.stop() == 0, service.errors()
    assert_each_has_its_job(log, range(76))
    assert len(jobs(log)) == 76
    (letter,) = [decode(value) for value in written(log, DEAD_LETTERS)]
    assert isinstance(letter, DeadLetter)
    assert (letter.key, letter.value) == (b"some key", b"\xc1 no event")
    with log.consumer("dedupe", [LAYERS]) as consumer:
        assert sum(consumer.lag().values()) == 0, "not committed"


@pytest.fixture
def compressed(kafka: KafkaConnection) -> Iterator[KafkaProducer]:
    """A producer whose records the broker keeps compressed, as brokers do that others set up."""
    create_topics(kafka)
    kept = {"compression.type": "producer"}
    with AdminClient(kafka) as admin:
        for topic in (LAYERS, DEDUPE_OWNERS):
            asked = ConfigResource(ConfigResourceType.TOPIC, kafka.topic(topic), kept)
            admin.alter_configs([asked])
            until(partial(_are_set, admin, asked))
    time.sleep(1)  # A broker shows settings a little before it goes by them.
    more = {"compression_type": "gzip", "linger_ms": 1000, "max_request_size": 2**30}
    producer = KafkaProducer(**kafka.kafka_python() | more)
    yield producer
    producer.close()


def _are_set(admin: AdminClient, asked: ConfigResource) -> bool:
    described = admin.describe_configs([ConfigResource(asked.resource_type, asked.name)])
    (shown,) = described["topic"].values()
    return all(shown[name]["value"] == value for name, value in asked.configs.items())


def peak_bytes(service: ServiceProcess) -> int:
    """The most memory that it has held."""
    status = Path(f"/proc/{service.pid}/status").read_text()
    return 1000 * next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line)


def test_what_is_compressed_is_a_dead_letter_whatever_it_would_become(
    kafka: KafkaConnection, log: EventLog, compressed: KafkaProducer, tmp_path: Path
) -> None:
    """Three hundred megabytes of nothing, and three events that would do no harm."""
    before, *rest = layers(range(10), "a")
    log.append([before])
    where = {"topic": kafka.topic(LAYERS), "partition": 5}
    compressed.send(value=bytes(300_000_000), **where).get(timeout=60)
    harmless = [compressed.send(value=message.value, **where) for message in rest[:3]]
    compressed.flush()
    log.append(rest)
    with Installation(kafka, tmp_path).start("dedupe") as service:
        until(lambda: consumed(service) == 12)
        until(lambda: is_done(service))
        assert peak_bytes(service) < 300_000_000
        assert service.stop() == 0, service.errors()
    assert_each_has_its_job(log, range(10))
    letters = [decode(value) for value in written(log, DEAD_LETTERS)]
    assert [(each.key, each.offset) for each in letters if isinstance(each, DeadLetter)] == [
        (b"", harmless[0].value.offset - 1),
        (b"", harmless[2].value.offset),
    ]
    for letter in letters:
        assert isinstance(letter, DeadLetter)
        assert letter.reason.startswith("compressed with gzip: what layers, partition 5, holds")


def test_many_large_records_that_wait_do_not_fill_its_memory(
    kafka: KafkaConnection, log: EventLog, tmp_path: Path
) -> None:
    """Each becomes a dead letter as large. All have one key, since of each partition aiokafka holds
    one more: held together, they would take over half a gigabyte.
    """
    for _ in range(30):
        log.append([Message(LAYERS, b"key", b"\xc1" + bytes(15_900_000))])
    log.append(layers(range(1), "a"))
    with Installation(kafka, tmp_path).start("dedupe") as service:
        until(lambda: consumed(service) >= 31, patience_s=300)
        until(lambda: is_done(service), patience_s=300)
        assert peak_bytes(service) < 430 * 2**20
        assert service.stop() == 0, service.errors()
    assert_each_has_its_job(log, range(1))


def test_what_others_write_to_its_changelog_does_it_no_harm(
    kafka: KafkaConnection, log: EventLog, compressed: KafkaProducer, tmp_path: Path
) -> None:
    (layer,) = layers(range(1), "a")
    for key in (layer.key, b"", b"\xff"):
        log.append([Message(DEDUPE_OWNERS, key, b"\xff no id")])
        topic = kafka.topic(DEDUPE_OWNERS)
        compressed.send(topic, key=key, value=bytes(100_000_000)).get(timeout=60)
    log.append([layer])
    with Installation(kafka, tmp_path).start("dedupe") as service:
        until(lambda: consumed(service) == 1)
        assert service.stop() == 0, service.errors()
    assert_each_has_its_job(log, range(1))


def killed_at_random(
    kafka: KafkaConnection, log: EventLog, tmp_path: Path, *, kills: int, events: int
) -> None:
    chance = random.Random(kills)
    log.append([*layers(range(events), "a"), *layers(range(events), "b")])
    for life in range(kills + 1):
        # Every other time on another machine, which has nothing but the changelog.
        installation = Installation(kafka, tmp_path / str(life // 2))
        installation.folder.mkdir(exist_ok=True)
        with installation.start("dedupe") as service:
            began = time.monotonic()  # To start a process takes many times as long where many run.
            until(partial(has_begun, service))
            assert time.monotonic() - began < AT_WORK_AGAIN_S
            if life < kills:
                time.sleep(chance.uniform(0, 1))
                service.kill()
                continue
            until(partial(is_done, service))
            assert service.stop() == 0, service.errors()
    assert_each_has_its_job(log, range(events))


def test_killed_at_any_moment_it_loses_no_layer_and_works_on_within_20_s(
    kafka: KafkaConnection, log: EventLog, tmp_path: Path
) -> None:
    killed_at_random(kafka, log, tmp_path, kills=3, events=4000)


def test_it_waits_for_a_broker_that_is_away(
    kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """`kafka_bootstrap` says whether there can be one; this one is killed."""
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    kafka = KafkaConnection(bootstrap=(broker.bootstrap,))
    with Installation(kafka, tmp_path).start("dedupe") as service:
        assert not service.ready()
        broker.start()
        try:
            with KafkaEventLog(kafka) as log:
                log.append(layers(range(100), "a"))
            until(lambda: consumed(service) == 100 and service.ready())
            broker.kill()
            until(lambda: not service.ready())
            broker.start()
            with KafkaEventLog(kafka) as log:
                log.append([*layers(range(100), "b"), *layers(range(100, 200), "b")])
                until(lambda: consumed(service) >= 300 and service.ready())
                assert service.stop() == 0, service.errors()
                assert_each_has_its_job(log, range(200))
        finally:
            broker.stop()


def test_it_shows_a_broker_its_password_and_certificate(
    broker_can_start: None, tmp_path: Path
) -> None:
    with (
        secured_broker(tmp_path) as kafka,
        Installation(kafka, tmp_path).start("dedupe") as service,
        KafkaEventLog(kafka) as log,
    ):
        log.append(layers(range(10), "a"))
        until(lambda: consumed(service) == 10 and service.ready())
        assert service.stop() == 0, service.errors()
        assert_each_has_its_job(log, range(10))


def test_two_in_one_folder_are_refused(kafka: KafkaConnection, tmp_path: Path) -> None:
    installation = Installation(kafka, tmp_path)
    with installation.start("dedupe"), pytest.raises(AssertionError, match="another dedupe"):
        installation.start("dedupe")


NOWHERE = KafkaConnection(bootstrap=("127.0.0.1:1",))


def test_told_to_stop_while_it_waits_for_kafka_it_does(tmp_path: Path) -> None:
    with Installation(NOWHERE, tmp_path).start("dedupe") as service:
        assert not service.ready()
        assert service.stop() == 0, service.errors()


def test_told_twice_it_stops_at_once(tmp_path: Path) -> None:
    with Installation(NOWHERE, tmp_path).start("dedupe") as service:
        os.kill(service.pid, signal.SIGTERM)
        until(lambda: "stopping" in service.errors())
        began = time.monotonic()
        assert service.stop() == -signal.SIGTERM
        assert time.monotonic() - began < STARTING_S


def held_by(service: ServiceProcess) -> set[int]:
    """The partitions."""
    checks = service.page("/readyz")[1]["checks"]
    detail: str = next(each["detail"] for each in checks if each["name"] == "partitions")
    return {int(number) for number in re.findall(r"[0-9]+", detail.partition(" of ")[0])}


def test_where_its_app_crashes_it_ends(kafka: KafkaConnection, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.dedupe.crashing_service"]
    installation = Installation(kafka, tmp_path / "other")
    installation.folder.mkdir()
    with ServiceProcess(command, Installation(kafka, tmp_path).environment(), tmp_path) as service:
        until(service.ready)
        with installation.start("dedupe"):
            until(lambda: service.status() is not None)
        assert service.status() == 1
        assert "ArithmeticError: partitions revoked" in service.errors()


def test_on_a_full_disk_it_ends_with_one_line_although_it_has_nothing_to_write_itself(
    kafka: KafkaConnection, log: EventLog, tmp_path: Path
) -> None:
    """What the other's layers are known by is kept by both."""
    if refused := disks_refused():
        pytest.skip(refused)
    one, two = (Installation(kafka, tmp_path / name) for name in ("one", "two"))
    one.folder.mkdir()
    two.folder.mkdir()
    with Disk(two.folder / "data") as disk, one.start("dedupe") as other:
        with two.start("dedupe") as service:
            until(lambda: service.ready() and other.ready() and len(held_by(other)) == 4)
            # Until it has something in its table, it hasn't opened it.
            log.append(layers(range(100), "a"))
            until(lambda: consumed(service) + consumed(other) == 100)
            before = consumed(service)
            disk.fill()
            of_other = held_by(other)
            more = [each for each in layers(range(100, 3000), "a") if partition(each) in of_other]
            log.append(more)
            until(lambda: service.status() is not None)
            assert before > 0
            assert_ended_for_want_of_space(service)
        with two.start("dedupe") as service:
            until(lambda: service.status() is not None)
            assert_ended_for_want_of_space(service)
        disk.free()
        with two.start("dedupe") as service:
            until(lambda: service.ready() and other.ready() and len(held_by(other)) == 4)
            assert service.stop() == 0, service.errors()
        assert other.stop() == 0, other.errors()
    assert not written(log, DEAD_LETTERS)


def partition(message: Message) -> int:
    """Where the log puts it."""
    return int(murmur2(message.key) & 0x7FFFFFFF) % PARTITIONS[LAYERS]


def assert_ended_for_want_of_space(service: ServiceProcess) -> None:
    assert service.status() == 1
    *_, last = service.errors().splitlines()
    assert re.match(r"error: dedupe's table can't be used .*No space left on device.*", last)
    assert "Traceback" not in service.errors()


def test_where_a_job_cannot_be_written_it_ends_and_commits_nothing(
    kafka: KafkaConnection, log: EventLog, tmp_path: Path
) -> None:
    create_topics(kafka)
    with AdminClient(kafka) as admin:
        too_small = {"max.message.bytes": "100"}
        asked = ConfigResource(ConfigResourceType.TOPIC, kafka.topic(JOBS), too_small)
        admin.alter_configs([asked])
    log.append(layers(range(5), "a"))
    with Installation(kafka, tmp_path).start("dedupe") as service:
        until(lambda: service.status() is not None)
        assert service.status() == 1
        assert "MessageSizeTooLargeError" in service.errors()
    with log.consumer("dedupe", [LAYERS]) as consumer:
        assert sum(consumer.lag().values()) == 5


def test_after_poison_it_stays_and_takes_no_more(
    kafka: KafkaConnection, log: EventLog, tmp_path: Path
) -> None:
    log.append([Message(LAYERS, b"some key", b"\xc1 no event")] * (MAX_IN_A_ROW + 50))
    reason = "could process none of the last 101 events"
    with Installation(kafka, tmp_path).start("dedupe") as service:
        until(lambda: reason in service.page("/readyz")[1]["checks"][0]["detail"])
        log.append(layers(range(1), "a"))
        time.sleep(3)
        assert not service.ready()
        assert service.page("/healthz")[0] == 200
        assert service.status() is None
        assert service.stop() == 1
        assert reason in service.errors()
    assert len(written(log, DEAD_LETTERS)) == MAX_IN_A_ROW + 1
    assert not jobs(log)
