"""kafka-python's clients, which leave nothing behind where no broker answers.

As they come, they start a thread before they look for a broker. Where none answers, the thread
goes on, with its sockets, and there is no client that could be closed, or it can't be: so each try
to reach a broker that is away would cost some more.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.consumer.fetcher import Fetcher
from kafka.errors import KafkaTimeoutError

from benanza_backbone.kafka.batches import Batches
from benanza_backbone.kafka.connection import TIMEOUT_MS, KafkaConnection

T = TypeVar("T")

RETRY_S = 0.05


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


class ProducerClient(_Reaching, KafkaProducer):  # type: ignore[misc]  # the library has no types
    """`KafkaProducer` over a connection, whose user waits for each record; `more` are other
    arguments of it.

    kafka-python (3.0.12) raises as it is closed where records can't be delivered, and stays open.
    Here it is closed, and they are given up.
    """

    def flush(self, timeout: float | None = None) -> None:
        """Called by `close`, within its time."""
        with suppress(KafkaTimeoutError):
            super().flush(timeout)


class ConsumerClient(_Reaching, KafkaConsumer):  # type: ignore[misc]  # the library has no types
    """`KafkaConsumer` over a connection; `more` are other arguments of it.

    kafka-python (3.0.12) asks for the offsets of those partitions whose leader it knows, and raises
    `KeyError` for the others; here it asks again until it knows all leaders. Of a topic that was
    made a moment ago, by this program or another, the broker that is asked may not know yet, and
    kafka-python says that it has no partitions; here it asks again until there are some. Raises
    `KafkaTimeoutError` after `TIMEOUT_MS`.
    """

    def __init__(self, connection: KafkaConnection, **more: Any) -> None:
        super().__init__(connection, **more)
        self._fetcher.PartitionRecords = _PartitionRecords

    def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return _asked_until_known(lambda: super(ConsumerClient, self).beginning_offsets(partitions))

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return _asked_until_known(lambda: super(ConsumerClient, self).end_offsets(partitions))

    def partitions_for_topic(self, topic: str) -> set[int]:
        def ask() -> set[int]:
            found: set[int] = super(ConsumerClient, self).partitions_for_topic(topic)
            if not found:
                raise KeyError(topic)
            return found

        return _asked_until_known(ask)


class _PartitionRecords(Fetcher.PartitionRecords):  # type: ignore[misc]  # no types
    """What was fetched of a partition, read as `Batches` does."""

    def _unpack_records(self, tp: Any, records: Any, *deserializers: Any) -> Any:
        return super()._unpack_records(tp, Batches(records._buffer), *deserializers)


def _asked_until_known(ask: Callable[[], T]) -> T:
    """What is answered once nothing raises `KeyError` any more, of what isn't known yet."""
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        try:
            return ask()
        except KeyError as error:
            if time.monotonic() > deadline:
                raise KafkaTimeoutError(f"no broker is known to lead {error.args[0]}") from error
            # The library has asked for the leaders by now.
            time.sleep(RETRY_S)
