"""How to reach Kafka: brokers, names, TLS and SASL."""

import ssl
from dataclasses import dataclass, field
from typing import Any, Literal

from benanza_backbone.errors import BenanzaError

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]

TIMEOUT_MS = 10_000
"""How long a broker may take to answer, in milliseconds."""


@dataclass(frozen=True, kw_only=True)
class KafkaConnection:
    """`bootstrap` are some brokers, as `host:port`.

    `prefix` stands before the name of each topic and group, so that installations can share a
    cluster. The files are PEM; `ca_file` empty means the authorities that the system trusts,
    `cert_file` and `key_file` are a client's own.
    """

    bootstrap: tuple[str, ...]
    prefix: str = ""
    security_protocol: SecurityProtocol = "PLAINTEXT"
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    sasl_mechanism: SaslMechanism = "PLAIN"
    sasl_username: str = ""
    sasl_password: str = field(default="", repr=False)

    def topic(self, name: str) -> str:
        """What a topic is called on the cluster."""
        return self.prefix + name

    def group(self, name: str) -> str:
        """What a consumer group is called on the cluster."""
        return self.prefix + name

    def shown(self) -> str:
        """The brokers, for people."""
        return ",".join(self.bootstrap)

    def tls(self) -> ssl.SSLContext | None:
        """Whom to trust and what to show, where the connection is encrypted.

        Raises `BenanzaError` if a file can't be used.
        """
        if not self.security_protocol.endswith("SSL"):
            return None
        try:
            context = ssl.create_default_context(cafile=self.ca_file or None)
            if self.cert_file:
                context.load_cert_chain(self.cert_file, self.key_file or None)
        except OSError as error:
            raise BenanzaError(
                f"can't use the files for TLS to Kafka ({error}); see whether "
                "BENANZA_KAFKA_SECURITY_CA_FILE, _CERT_FILE and _KEY_FILE name PEM files, and the "
                "key is that of the certificate and has no password"
            ) from error
        return context

    def kafka_python(self) -> dict[str, Any]:
        """Arguments of kafka-python's clients.
        https://kafka-python.readthedocs.io/en/master/apidoc/KafkaConsumer.html

        Raises as `tls` does.
        """
        arguments: dict[str, Any] = {
            "bootstrap_servers": list(self.bootstrap),
            "client_id": "benanza",
            "bootstrap_timeout_ms": TIMEOUT_MS,
            "request_timeout_ms": TIMEOUT_MS,
            # A broker that was away is to be found soon after it has come back.
            "reconnect_backoff_max_ms": 1000,
            "security_protocol": self.security_protocol,
        }
        if context := self.tls():
            arguments["ssl_context"] = context
        if self.security_protocol.startswith("SASL"):
            arguments |= {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.sasl_username,
                "sasl_plain_password": self.sasl_password,
            }
        return arguments
