"""A broker that asks for TLS, a certificate of the client's own and a password."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benanza_backbone.kafka.connection import KafkaConnection
from tests.backbone.certificates import certificate
from tests.kafka_broker import KafkaBroker

EXTRA = """
listeners=SASL_SSL://{bootstrap},CONTROLLER://{controller}
advertised.listeners=SASL_SSL://{bootstrap}
listener.security.protocol.map=SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=SASL_SSL
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
ssl.truststore.type=PEM
ssl.truststore.location={truststore}
listener.name.sasl_ssl.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required \
username="broker" password="of-the-broker" user_broker="of-the-broker" user_ada="s3cr3t";
"""


@contextmanager
def secured_broker(folder: Path) -> Iterator[KafkaConnection]:
    """How a user whom it knows reaches it."""
    key, cert = certificate(folder, "broker")
    client_key, client_cert = certificate(folder, "client")
    keystore, truststore = folder / "keystore.pem", folder / "truststore.pem"
    keystore.write_text(key.read_text() + cert.read_text())
    truststore.write_text(cert.read_text() + client_cert.read_text())
    broker = KafkaBroker(folder)
    (folder / "extra.properties").write_text(
        EXTRA.format(
            bootstrap=broker.bootstrap,
            controller=broker.controller,
            keystore=keystore,
            truststore=truststore,
        )
    )
    broker.start()
    yield KafkaConnection(
        bootstrap=(broker.bootstrap,),
        security_protocol="SASL_SSL",
        ca_file=str(cert),
        cert_file=str(client_cert),
        key_file=str(client_key),
        sasl_username="ada",
        sasl_password="s3cr3t",
    )
    broker.kill()
