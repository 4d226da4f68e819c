"""What kafka-python raises, as errors that say how to mend them."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from kafka.errors import (
    AuthorizationError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NodeNotReadyError,
    NotCoordinatorError,
    SaslAuthenticationFailedError,
)

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection

_UNREACHED = (KafkaConnectionError, KafkaTimeoutError, NodeNotReadyError)
_PROBE_S = 2.0

COORDINATOR_AWAITED = (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    NotCoordinatorError,
)
"""What the brokers answer about a group while none of them coordinates it: for some seconds, on a
new cluster or after the broker that did so went away."""


class CoordinatorAwaitedError(BenanzaError):
    """Kafka answers, and hasn't settled yet which broker coordinates the group."""


@contextmanager
def kafka_errors_mended(connection: KafkaConnection) -> Iterator[None]:
    """Raises what kafka-python raises in the block as `BenanzaError`."""
    where = connection.shown()
    try:
        yield
    except SaslAuthenticationFailedError as error:
        raise BenanzaError(
            f"Kafka at {where} refuses the user or the password; mend "
            "BENANZA_KAFKA_SECURITY_USERNAME and BENANZA_KAFKA_SECURITY_PASSWORD"
        ) from error
    except AuthorizationError as error:
        raise BenanzaError(
            f"Kafka at {where} doesn't let this user do that ({_line(error)}); have the right "
            "given to it"
        ) from error
    except _UNREACHED as error:
        raise BenanzaError(_found_out(connection, _line(error))) from error
    except COORDINATOR_AWAITED as error:
        raise CoordinatorAwaitedError(
            f"Kafka at {where} answers, and is still choosing a broker to coordinate the group; on "
            "a new cluster that takes some seconds"
        ) from error
    except KafkaError as error:
        raise BenanzaError(f"Kafka at {where} says: {_line(error)}") from error


def _found_out(connection: KafkaConnection, message: str) -> str:
    """Why kafka-python gave up, beside what it said: by connecting anew, up to the log-in."""
    for server in connection.bootstrap:
        host, _, port = server.rpartition(":")
        host = host.strip("[]")
        try:
            with socket.create_connection((host, int(port)), _PROBE_S) as plain:
                if context := connection.tls():
                    context.wrap_socket(plain, server_hostname=host).close()
        except ssl.SSLError as error:
            return (
                f"Kafka at {server} and this program don't agree on TLS: {_line(error)}; mend "
                "BENANZA_KAFKA_SECURITY_CA_FILE or BENANZA_KAFKA_SECURITY_PROTOCOL"
            )
        except OSError:
            continue
        return (
            f"Kafka at {server} takes the connection, and then doesn't answer ({message}); "
            "see whether BENANZA_KAFKA_SECURITY_PROTOCOL, _CERT_FILE, _SASL_MECHANISM, _USERNAME "
            "and _PASSWORD are what it asks for, and whether it is well"
        )
    return (
        f"no Kafka broker answers at {connection.shown()} ({message}); start it, or "
        "mend BENANZA_KAFKA"
    )


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
