"""How a connection's settings become arguments of kafka-python's clients."""

import ssl
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection
from tests.backbone.certificates import certificate

SASL = {"sasl_username": "ada", "sasl_password": "s3cr3t"}


def connection(**fields: Any) -> KafkaConnection:
    return KafkaConnection(bootstrap=("one:9092", "two:9092"), **fields)


def test_a_plain_connection_knows_nothing_of_tls_and_passwords() -> None:
    plain = connection(ca_file="/nowhere.pem", **SASL)
    assert plain.tls() is None
    arguments = plain.kafka_python()
    assert arguments["bootstrap_servers"] == ["one:9092", "two:9092"]
    assert arguments["security_protocol"] == "PLAINTEXT"
    assert not [name for name in arguments if name.startswith(("ssl", "sasl"))]


def test_tls_trusts_whom_the_file_names(tmp_path: Path) -> None:
    _, cert = certificate(tmp_path, "broker")
    arguments = connection(security_protocol="SSL", ca_file=str(cert)).kafka_python()
    assert arguments["security_protocol"] == "SSL"
    context = arguments["ssl_context"]
    assert [dict(*authority["subject"]) for authority in context.get_ca_certs()] == [
        {"commonName": "broker"}
    ]
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert not [name for name in arguments if name.startswith("sasl")]


def test_without_files_the_system_says_whom_to_trust() -> None:
    context = connection(security_protocol="SSL").tls()
    assert context
    assert context.cert_store_stats() == ssl.create_default_context().cert_store_stats()


def test_files_that_do_not_fit_are_an_error_that_names_the_settings(tmp_path: Path) -> None:
    key, _ = certificate(tmp_path, "one")
    _, cert = certificate(tmp_path, "two")
    (tmp_path / "nonsense").write_text("nonsense")
    for files in (
        {"ca_file": str(tmp_path / "nonsense")},
        {"ca_file": str(tmp_path / "nowhere")},
        {"cert_file": str(cert), "key_file": str(key)},
        {"cert_file": str(cert)},
    ):
        with pytest.raises(BenanzaError, match="BENANZA_KAFKA_SECURITY_CA_FILE") as caught:
            connection(security_protocol="SASL_SSL", **files).kafka_python()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize(("protocol", "encrypted"), [("SASL_PLAINTEXT", False), ("SASL_SSL", True)])
def test_sasl(protocol: str, encrypted: bool, mechanism: str) -> None:
    arguments = connection(
        security_protocol=protocol, sasl_mechanism=mechanism, **SASL
    ).kafka_python()
    assert arguments["security_protocol"] == protocol
    assert arguments["sasl_mechanism"] == mechanism
    assert arguments["sasl_plain_username"] == "ada"
    assert arguments["sasl_plain_password"] == "s3cr3t"
    assert ("ssl_context" in arguments) == encrypted


@pytest.mark.parametrize("client", [KafkaAdminClient, KafkaConsumer, KafkaProducer])
def test_the_clients_know_all_arguments(client: Any) -> None:
    arguments = connection(security_protocol="SASL_SSL", **SASL).kafka_python()
    assert arguments.keys() <= client.DEFAULT_CONFIG.keys()


def test_the_prefix_stands_before_topics_and_groups() -> None:
    shared = connection(prefix="lab-")
    assert (shared.topic("jobs"), shared.group("ingest")) == ("lab-jobs", "lab-ingest")
    assert (connection().topic("jobs"), connection().group("ingest")) == ("jobs", "ingest")


def test_nobody_sees_the_password() -> None:
    secret = connection(security_protocol="SASL_SSL", **SASL)
    assert "s3cr3t" not in repr(secret) + secret.shown()
