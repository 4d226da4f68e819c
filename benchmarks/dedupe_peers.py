"""What dedupe is compared with: `python -m benchmarks.dedupe_peers PEER BOOTSTRAP PREFIX EVENTS`.

Each prints how many seconds it took from the first event to the last.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from confluent_kafka import Consumer, Producer

from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.service.processor import as_message
from benanza_dedupe.agent import create_app
from benanza_dedupe.core import Dedupe
from benanza_schemas.codec import decode
from benanza_schemas.events import LayerSeen
from benanza_schemas.topics import LAYERS


class Stopwatch:
    """Counts events; done when there were as many as were awaited."""

    def __init__(self, events: int) -> None:
        self._left = events
        self._began = 0.0
        self.done = False

    def count(self, events: int = 1) -> None:
        """So many events more."""
        self._began = self._began or time.perf_counter()
        self._left -= events
        if self._left <= 0 and not self.done:
            self.done = True
            print(time.perf_counter() - self._began, flush=True)


def empty_faust(kafka: KafkaConnection, watch: Stopwatch) -> None:
    """A Faust agent that takes events and does nothing with them; all else is as in dedupe."""
    app = create_app(kafka, Path(tempfile.mkdtemp(prefix="benanza-bench-")))
    topic = app.topic(kafka.topic(LAYERS), key_serializer="raw", value_serializer="raw")

    async def take(stream: Any) -> None:
        async for _ in stream:
            watch.count()

    app.agent(topic, concurrency=1)(take)

    async def run() -> None:
        app.finalize()
        await app.start()
        while not watch.done:
            await asyncio.sleep(0.1)

    asyncio.get_event_loop_policy().new_event_loop().run_until_complete(run())


def bare_aiokafka(kafka: KafkaConnection, watch: Stopwatch) -> None:
    """The rule of dedupe over a dict, in a loop over batches that commits after its sends."""

    async def run() -> None:
        dedupe = Dedupe({})
        consumer = AIOKafkaConsumer(
            kafka.topic(LAYERS),
            bootstrap_servers=list(kafka.bootstrap),
            group_id=kafka.group("aiokafka"),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        producer = AIOKafkaProducer(
            bootstrap_servers=list(kafka.bootstrap), acks="all", enable_idempotence=True
        )
        await consumer.start()
        await producer.start()
        while not watch.done:
            fetched: dict[TopicPartition, Any] = await consumer.getmany(
                timeout_ms=500, max_records=1000
            )
            sent = []
            for records in fetched.values():
                for record in records:
                    event = decode(record.value)
                    assert isinstance(event, LayerSeen)
                    for message in map(as_message, dedupe.handle(event)):
                        topic = kafka.topic(message.topic)
                        sent.append(await producer.send(topic, message.value, message.key))
                watch.count(len(records))
            if fetched:
                await asyncio.gather(*sent)
                await consumer.commit()
        await producer.stop()
        await consumer.stop()

    asyncio.run(run())


def bare_confluent(kafka: KafkaConnection, watch: Stopwatch) -> None:
    """The same loop over confluent-kafka, which is librdkafka in C."""
    dedupe = Dedupe({})
    servers = ",".join(kafka.bootstrap)
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": kafka.group("confluent"),
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5})
    consumer.subscribe([kafka.topic(LAYERS)])
    while not watch.done:
        fetched = consumer.consume(1000, timeout=0.5)
        for record in fetched:
            event = decode(record.value() or b"")
            assert isinstance(event, LayerSeen)
            for message in map(as_message, dedupe.handle(event)):
                producer.produce(kafka.topic(message.topic), message.value, message.key)
        if fetched:
            producer.flush()
            consumer.commit(asynchronous=False)
            watch.count(len(fetched))
    consumer.close()


PEERS = {"faust": empty_faust, "aiokafka": bare_aiokafka, "confluent": bare_confluent}


def main() -> None:
    """Runs the peer named on the command line."""
    peer, bootstrap, prefix, events = sys.argv[1:]
    kafka = KafkaConnection(bootstrap=(bootstrap,), prefix=prefix)
    PEERS[peer](kafka, Stopwatch(int(events)))
    # Faust's threads would take half a minute to end.
    os._exit(0)


if __name__ == "__main__":
    main()
