"""How Faust reaches Kafka: its clients, the addresses, TLS and SASL."""

import ssl

import faust
from faust.transport.drivers import aiokafka
from faust.types.auth import CredentialsT

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_dedupe.consumer import PatientConsumer
from benanza_dedupe.producer import IdempotentProducer


class Transport(aiokafka.Transport):
    """Faust's Kafka, with that consumer and that producer."""

    Consumer = PatientConsumer
    Producer = IdempotentProducer


def addresses(connection: KafkaConnection) -> list[str]:
    """The brokers, as Faust wants them."""
    return [f"kafka://{server}" for server in connection.bootstrap]


def credentials(connection: KafkaConnection) -> CredentialsT | None:
    """What proves to the brokers who this is; nothing for a plain connection.

    Raises `BenanzaError` if a certificate or key can't be read.
    """
    protocol = connection.security_protocol
    context = _tls(connection) if protocol.endswith("SSL") else None
    if protocol.startswith("SASL"):
        return faust.SASLCredentials(
            username=connection.sasl_username,
            password=connection.sasl_password,
            mechanism=connection.sasl_mechanism,
            ssl_context=context,
        )
    return faust.SSLCredentials(context=context) if context else None


def _tls(connection: KafkaConnection) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=connection.ca_file or None)
        if connection.cert_file:
            context.load_cert_chain(connection.cert_file, connection.key_file or None)
    except OSError as error:
        raise BenanzaError(
            f"can't use the TLS files for Kafka ({error}); check the files that "
            "BENANZA_KAFKA_SECURITY_… name"
        ) from error
    return context
