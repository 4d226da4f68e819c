"""What kafka-python raises becomes one line that says what to do."""

import socket

import pytest
from kafka.errors import (
    CoordinatorNotAvailableError,
    InvalidPartitionsError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
)

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.errors import kafka_errors_mended


def mended(error: Exception, server: str = "127.0.0.1:1") -> str:
    connection = KafkaConnection(bootstrap=(server,), sasl_password="s3cr3t")
    with pytest.raises(BenanzaError) as caught, kafka_errors_mended(connection):
        raise error
    assert caught.value.__cause__ is error
    return str(caught.value)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (SaslAuthenticationFailedError("no\n such user"), "mend BENANZA_KAFKA_SECURITY_USERNAME"),
        (TopicAuthorizationFailedError("jobs"), "have the right given"),
        (InvalidPartitionsError("too\nmany"), "says: "),
        (CoordinatorNotAvailableError("none\nyet"), "answers, and is still choosing a broker"),
        (
            KafkaTimeoutError("gave\nup"),
            "no Kafka broker answers at 127.0.0.1:1 (KafkaTimeoutError: gave up); start it",
        ),
    ],
)
def test_an_error_is_one_line_with_a_remedy(error: Exception, says: str) -> None:
    text = mended(error)
    assert says in text
    assert "127.0.0.1:1" in text
    assert "\n" not in text
    assert "s3cr3t" not in text


def test_what_listens_and_is_no_kafka_is_not_called_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        text = mended(KafkaTimeoutError(), f"127.0.0.1:{listening.getsockname()[1]}")
    assert "takes the connection" in text
    assert "BENANZA_KAFKA_SECURITY_PROTOCOL" in text


def test_other_errors_are_left_alone() -> None:
    connection = KafkaConnection(bootstrap=("127.0.0.1:1",))
    with pytest.raises(ZeroDivisionError), kafka_errors_mended(connection):
        raise ZeroDivisionError
