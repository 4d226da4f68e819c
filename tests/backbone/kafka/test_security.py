"""TLS, certificates of clients and SASL against a real broker that asks for all of them."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from tests.backbone.event_log.event_log_contract import drain, numbered, values, values_of
from tests.secured_broker import secured_broker

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def secured(
    broker_can_start: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaConnection]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as connection:
        yield connection


def test_who_has_the_password_and_trusts_the_certificate_gets_in(secured: KafkaConnection) -> None:
    with KafkaEventLog(secured) as log, log.consumer("group", ["topic"]) as consumer:
        log.append(numbered("topic", 5))
        assert values(drain(consumer)) == values_of(5)


@pytest.mark.parametrize(
    ("wrong", "mend"),
    [
        ({"sasl_password": "gue55"}, "_PASSWORD are what it asks for"),
        ({"sasl_mechanism": "SCRAM-SHA-256"}, "_SASL_MECHANISM"),
        ({"cert_file": "", "key_file": ""}, "_CERT_FILE"),
        ({"ca_file": ""}, "BENANZA_KAFKA_SECURITY_CA_FILE"),
        ({"security_protocol": "PLAINTEXT"}, "BENANZA_KAFKA_SECURITY_PROTOCOL"),
    ],
)
def test_who_is_not_let_in_is_told_which_setting_to_mend(
    secured: KafkaConnection, wrong: dict[str, str], mend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benanza_backbone.kafka.connection.TIMEOUT_MS", 1_500)
    connection = replace(secured, **wrong)  # type: ignore[arg-type]  # names of fields
    with pytest.raises(BenanzaError) as caught:
        KafkaEventLog(connection)
    assert mend in str(caught.value)
    assert "gue55" not in str(caught.value)
    assert "\n" not in str(caught.value)
