"""The topics on a real broker: as many partitions, compacted and kept as the table says."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import MessageSizeTooLargeError

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Message, Partition
from benanza_backbone.kafka.clients import AdminClient
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.kafka.topics import create_topics
from benanza_schemas.codec import MAX_EVENT_BYTES
from benanza_schemas.topics import COMPACTED, JOBS, KEPT_FOR, PARTITIONS


def partitions_of(kafka: KafkaConnection) -> dict[str, int]:
    with KafkaAdminClient(**kafka.kafka_python()) as admin:
        topics = admin.describe_topics([kafka.topic(name) for name in PARTITIONS])
    return {t["name"].removeprefix(kafka.prefix): len(t["partitions"]) for t in topics}


def settings_of(kafka: KafkaConnection, topic: str) -> dict[str, str]:
    resource = ConfigResource(ConfigResourceType.TOPIC, kafka.topic(topic))
    with KafkaAdminClient(**kafka.kafka_python()) as admin:
        described = admin.describe_configs([resource])
    (by_name,) = described["topic"].values()
    return {name: config["value"] for name, config in by_name.items()}


def test_all_are_made_once(kafka: KafkaConnection) -> None:
    assert sorted(create_topics(kafka)) == sorted(PARTITIONS)
    assert create_topics(kafka) == []
    assert partitions_of(kafka) == PARTITIONS


def test_those_that_others_made_a_moment_ago_are_waited_for(
    kafka: KafkaConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks for their settings before gets none."""
    create_topics(kafka)
    answer, times = AdminClient.describe_topics, 0

    def not_yet(admin: AdminClient, names: Sequence[str]) -> list[dict[str, Any]]:
        nonlocal times
        times += 1
        topics: list[dict[str, Any]] = answer(admin, names)
        return [topic | {"error_code": 3} for topic in topics] if times == 1 else topics

    monkeypatch.setattr(AdminClient, "describe_topics", not_yet)
    assert create_topics(kafka) == []
    assert times == 2


@pytest.mark.parametrize("by", ["this call", "another one before"])
def test_topics_that_the_brokers_do_not_get_made_are_told(
    kafka: KafkaConnection, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by != "this call":
        create_topics(kafka)
    answer = AdminClient.describe_topics

    def never(admin: AdminClient, topics: Sequence[str]) -> list[dict[str, Any]]:
        return [topic | {"error_code": 3} for topic in answer(admin, topics)]

    monkeypatch.setattr(AdminClient, "describe_topics", never)
    monkeypatch.setattr("benanza_backbone.kafka.topics.MADE_WITHIN_S", 0.3)
    with pytest.raises(BenanzaError, match=r"takes more than 0\.3 s to make topics .*disks"):
        create_topics(kafka)


def test_a_topic_that_is_there_stays_as_it_is(kafka: KafkaConnection) -> None:
    with KafkaAdminClient(**kafka.kafka_python()) as admin:
        admin.create_topics({kafka.topic(JOBS): {"num_partitions": 3}})
        admin.wait_for_topics([kafka.topic(JOBS)])
    assert sorted(create_topics(kafka)) == sorted(PARTITIONS.keys() - {JOBS})
    assert partitions_of(kafka) == PARTITIONS | {JOBS: 3}


@pytest.mark.parametrize("topic", PARTITIONS)
def test_each_is_kept_as_the_table_says(made: KafkaConnection, topic: str) -> None:
    settings = settings_of(made, topic)
    assert int(settings["max.message.bytes"]) > MAX_EVENT_BYTES
    assert settings["cleanup.policy"] == ("compact" if topic in COMPACTED else "delete")
    if topic in KEPT_FOR:
        assert settings["retention.ms"] == str(KEPT_FOR[topic] // timedelta(milliseconds=1))
    elif topic not in COMPACTED:
        assert settings["retention.ms"] == "-1"


@pytest.mark.parametrize("hours", [-100, 100])
def test_a_record_has_the_brokers_time(
    kafka: KafkaConnection, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """Where the sender's counted, a broker would refuse one whose clock is an hour ahead."""
    right = datetime.now(UTC)
    with KafkaEventLog(kafka) as log:
        wrong_ns = time.time_ns() + hours * 3600 * 10**9
        monkeypatch.setattr(time, "time_ns", lambda: wrong_ns)
        log.append([Message(JOBS, b"key", b"value")])
        (record,) = log.records(JOBS)
    assert abs(record.timestamp - right) < timedelta(hours=1)


@pytest.mark.parametrize(("size", "is_taken"), [(10_000_000, True), (50_000_000, False)])
def test_what_comes_compressed_is_stored_as_it_was_before(
    made: KafkaConnection, size: int, is_taken: bool
) -> None:
    """So the brokers refuse what gets too large, and no reader unpacks anything."""
    producer = KafkaProducer(
        **made.kafka_python() | {"compression_type": "gzip", "max_request_size": 2 * size}
    )
    with ExitStack() as held:
        held.callback(producer.close)
        sent = producer.send(made.topic(JOBS), key=b"key", value=bytes(size))
        if not is_taken:
            with pytest.raises(MessageSizeTooLargeError):
                sent.get(timeout=30)
            return
        at = sent.get(timeout=30)
        reader = held.enter_context(KafkaEventLog(made))
        (record,) = reader.read(Partition(JOBS, at.partition), at.offset, 1)
    assert record.value == bytes(size)


def test_a_log_makes_its_topics_the_same_way(kafka: KafkaConnection) -> None:
    with KafkaEventLog(kafka) as log:
        assert len(log.end_offsets(JOBS)) == PARTITIONS[JOBS]
    assert settings_of(kafka, JOBS)["cleanup.policy"] == "compact"


def test_without_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benanza_backbone.kafka.connection.TIMEOUT_MS", 500)
    nowhere = KafkaConnection(bootstrap=("127.0.0.1:1",))
    with pytest.raises(
        BenanzaError, match=r"no Kafka broker answers at 127\.0\.0\.1:1 .*mend BENANZA_KAFKA"
    ) as caught:
        create_topics(nowhere)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def made(kafka_bootstrap: str) -> KafkaConnection:
    """Where the topics were made."""
    connection = KafkaConnection(bootstrap=tuple(kafka_bootstrap.split(",")), prefix="made-")
    create_topics(connection)
    return connection
