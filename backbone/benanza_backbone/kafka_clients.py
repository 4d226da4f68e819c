"""kafka-python's clients, which leave nothing behind where no broker answers.

As they come, they start a thread before they look for a broker. Where none answers, the thread
goes on, with its sockets, and there is no client that could be closed: so each try to reach a
broker that is away would cost some more.
"""

from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer

from benanza_backbone.kafka_connection import KafkaConnection


class _Reaching:
    """Raises as kafka-python's client does, and as `KafkaConnection.kafka_python`."""

    def __init__(self, connection: KafkaConnection, **more: Any) -> None:
        try:
            super().__init__(**connection.kafka_python() | more)
        except BaseException:
            if network := getattr(self, "_client", None):
                network.close()
            raise


class AdminClient(_Reaching, KafkaAdminClient):  # type: ignore[misc]  # the library has no types
    """`KafkaAdminClient` over a connection; `more` are other arguments of it, or instead."""


class ConsumerClient(_Reaching, KafkaConsumer):  # type: ignore[misc]  # the library has no types
    """`KafkaConsumer` over a connection; `more` are other arguments of it."""
