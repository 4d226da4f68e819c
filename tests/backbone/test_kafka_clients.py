"""Clients that find no broker are gone, with their threads."""

import threading
from collections.abc import Callable

import pytest
from kafka.errors import KafkaError

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka_clients import AdminClient, ConsumerClient
from benanza_backbone.kafka_connection import KafkaConnection

NOWHERE = KafkaConnection(bootstrap=("127.0.0.1:1",))


def clients_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("kafka-io")}


@pytest.mark.parametrize("client", [AdminClient, ConsumerClient])
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
