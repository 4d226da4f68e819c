"""TLS and SASL settings reach Faust's Kafka clients."""

import ssl
import subprocess
from pathlib import Path

import faust
import pytest
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_dedupe.agent import create_app
from benanza_dedupe.broker import addresses, credentials

SELF_SIGNED = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=kafka".split()
BOOTSTRAP = ("one.example:9092", "two.example:9093")


def test_every_broker_is_named() -> None:
    connection = KafkaConnection(bootstrap=BOOTSTRAP)
    assert addresses(connection) == ["kafka://one.example:9092", "kafka://two.example:9093"]
    assert credentials(connection) is None


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_user_and_password_reach_the_client(protocol: str, mechanism: str) -> None:
    connection = KafkaConnection(
        bootstrap=BOOTSTRAP,
        security_protocol=protocol,  # type: ignore[arg-type]  # one of the parameters above
        sasl_mechanism=mechanism,  # type: ignore[arg-type]
        sasl_username="someone",
        sasl_password="secret",
    )
    arguments = dict(credentials_to_aiokafka_auth(credentials(connection)))
    context = arguments.pop("ssl_context")
    assert arguments == {
        "security_protocol": protocol,
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "someone",
        "sasl_plain_password": "secret",
    }
    assert isinstance(context, ssl.SSLContext) == (protocol == "SASL_SSL")


def test_certificates_are_checked_and_the_clients_own_is_shown(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [*SELF_SIGNED, "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    connection = KafkaConnection(
        bootstrap=BOOTSTRAP,
        security_protocol="SSL",
        ca_file=str(certificate),
        cert_file=str(certificate),
        key_file=str(key),
    )
    found = credentials(connection)
    assert isinstance(found, faust.SSLCredentials)
    assert found.context.verify_mode == ssl.CERT_REQUIRED
    assert found.context.check_hostname
    assert len(found.context.get_ca_certs()) == 1


def test_a_certificate_that_is_not_there_is_an_error_that_names_the_settings() -> None:
    connection = KafkaConnection(
        bootstrap=BOOTSTRAP, security_protocol="SSL", ca_file="/nowhere/ca.pem"
    )
    with pytest.raises(BenanzaError, match="BENANZA_KAFKA_SECURITY_"):
        credentials(connection)


def test_names_stand_behind_the_prefix(tmp_path: Path) -> None:
    app = create_app(KafkaConnection(bootstrap=BOOTSTRAP, prefix="lab."), tmp_path)
    assert app.conf.id == "lab.dedupe"
    assert [str(url) for url in app.conf.broker_consumer] == [
        "kafka://one.example:9092",
        "kafka://two.example:9093",
    ]
    assert app.conf.broker_session_timeout == 10
    assert not app.conf.topic_allow_declare
