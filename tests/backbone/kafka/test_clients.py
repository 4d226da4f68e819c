"""Clients that find no broker are gone with their threads; those that find one know its leaders."""

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka import clients
from benanza_backbone.kafka.clients import AdminClient, ConsumerClient, ProducerClient
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.topics import create_topics
from benanza_schemas.topics import GRAPHS, PARTITIONS, RESULTS
from tests.kafka_broker import KafkaBroker

NOWHERE = KafkaConnection(bootstrap=("127.0.0.1:1",))


def clients_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("kafka-io")}


@pytest.mark.parametrize("client", [AdminClient, ConsumerClient, ProducerClient])
def test_one_that_finds_no_broker_leaves_no_thread_behind(client: Callable[..., object]) -> None:
    before = clients_threads()
    for _ in range(3):
        with pytest.raises(KafkaError):
            client(NOWHERE, bootstrap_timeout_ms=200)
    assert clients_threads() <= before


@pytest.mark.parametrize("client", [AdminClient, ConsumerClient])
def test_arguments_that_are_wrong_are_told_as_ever(client: Callable[..., object]) -> None:
    with pytest.raises(KafkaError, match="Unrecognized configs"):
        client(NOWHERE, bootstrap_patience_ms=200)
    with pytest.raises(BenanzaError, match="BENANZA_KAFKA_SECURITY_CA_FILE"):
        client(KafkaConnection(bootstrap=("x:1",), security_protocol="SSL", ca_file="/nowhere"))


@pytest.mark.usefixtures("broker_can_start")
def test_a_producer_can_be_closed_although_its_record_can_not_be_delivered(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path)
    broker.start()
    before = set(threading.enumerate())
    try:
        connection = KafkaConnection(bootstrap=(broker.bootstrap,))
        create_topics(connection)
        producer = ProducerClient(connection)
        producer.send(RESULTS, b"one", b"one").get(timeout=20)
        broker.kill()
        record = producer.send(RESULTS, b"two", b"two")
        producer.close(timeout=0.5)
        assert not record.succeeded()
        for thread in set(threading.enumerate()) - before:
            thread.join(10)
            assert not thread.is_alive(), thread
    finally:
        broker.kill()


@pytest.mark.parametrize("question", ["end_offsets", "beginning_offsets"])
def test_offsets_are_told_whose_leaders_are_not_known_yet(
    kafka: KafkaConnection, question: str
) -> None:
    """The library raises `KeyError` for partitions of the second topic."""
    create_topics(kafka)
    first, second = TopicPartition(kafka.topic(GRAPHS), 0), TopicPartition(kafka.topic(RESULTS), 0)
    with closing(ConsumerClient(kafka)) as client:
        ask = getattr(client, question)
        assert ask([first]) == {first: 0}
        assert ask([first, second]) == {first: 0, second: 0}


def test_partitions_are_told_of_a_topic_that_is_made_only_now(kafka: KafkaConnection) -> None:
    """As others make it, who then knows of it first."""
    with closing(ConsumerClient(kafka)) as client:
        making = threading.Timer(0.3, create_topics, [kafka])
        making.start()
        assert client.partitions_for_topic(kafka.topic(GRAPHS)) == set(range(PARTITIONS[GRAPHS]))
        making.join()


def test_a_leader_that_is_never_known_is_an_error(
    kafka: KafkaConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "TIMEOUT_MS", 500)
    create_topics(kafka)
    there, nowhere = TopicPartition(kafka.topic(GRAPHS), 0), TopicPartition(kafka.topic(GRAPHS), 9)
    with closing(ConsumerClient(kafka)) as client:
        with pytest.raises(KafkaTimeoutError, match="partition=9"):
            client.end_offsets([there, nowhere])
        with pytest.raises(KafkaTimeoutError, match="nobody-makes-it"):
            client.partitions_for_topic("nobody-makes-it")
