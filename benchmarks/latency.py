"""How long from a model's event to its bounds in ClickHouse, where all its layers are known?

Every service is a process of its own, over a real broker and ClickHouse's engine behind HTTP.
Models that differ in their checksums alone are published one after the other, and the store is
asked until their bounds are there. The times are printed as ratios to the aim at the 99th
percentile, beside what a round of asking alone takes.
"""

import hashlib
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import onnx

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.service.processor import as_message
from benanza_ingest.core import model_id
from benanza_ingest.reading.zoo import zoo_path
from benanza_schemas.events import ModelPublished, event_id
from tests.benanza.processes import Installation, until
from tests.kafka_broker import KafkaBroker, lacking

AIM_MS = 500.0
MODEL = "squeezenet"
MODELS = 200
BOUNDS = 4
"""Of a model on one system at one precision: two accountings, each with fusion and without."""

FOUND = "SELECT count() AS n FROM bounds WHERE model_id = {model:String}"
UNMEASURED = """
SELECT countIf(arrayExists(why -> why LIKE '%not measured yet%', missing.reason)) AS n
FROM current_bounds
WHERE model_id = {model:String}
"""


def published(number: int) -> ModelPublished:
    """The model under a checksum of its own."""
    proto = onnx.load(zoo_path(MODEL))
    proto.doc_string = f"number {number}"
    content = proto.SerializeToString()
    digest = hashlib.sha256(content).hexdigest()
    return ModelPublished(
        event_id=event_id("ModelPublished", digest),
        name=f"{MODEL}-{number}",
        sha256=digest,
        content=content,
        batch_sizes=(1,),
    )


class Watched:
    """Publishes models and watches the store for their bounds."""

    def __init__(self, log: KafkaEventLog, store: Store) -> None:
        self._log = log
        self._store = store

    def ask(self, query: str, model: ModelPublished) -> int:
        """The number that a query finds for a model."""
        (row,) = self._store.query(query, {"model": model_id(model.sha256, 1, {})})
        return int(row["n"])

    def prepare(self) -> None:
        """Gets all layers of the model measured, or found not to be measurable."""
        model = published(-1)
        self._log.append([as_message(model)])
        until(lambda: self.ask(FOUND, model) >= BOUNDS and not self.ask(UNMEASURED, model))

    def latency_ms(self, number: int) -> float:
        """From the event to the last of the bounds."""
        model = published(number)
        began = time.perf_counter()
        self._log.append([as_message(model)])
        while self.ask(FOUND, model) < BOUNDS:
            time.sleep(0.05)  # The engine does one thing at a time: asking keeps it from storing.
        return (time.perf_counter() - began) * 1000

    def asking_ms(self) -> float:
        """How long it takes to ask once."""
        model = published(-1)
        began = time.perf_counter()
        self.ask(FOUND, model)
        return (time.perf_counter() - began) * 1000


def main() -> None:
    """Prints the latency's median and 99th percentile."""
    if reason := lacking():
        raise SystemExit(reason)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="benanza-bench-")))
        broker = KafkaBroker(folder)
        broker.start()
        held.callback(broker.stop)
        kafka = KafkaConnection(bootstrap=(broker.bootstrap,))
        installation = Installation(kafka, folder)
        held.enter_context(installation.start_clickhouse())
        for service in ("ingest", "dedupe", "analyzer"):
            held.enter_context(installation.start(service))
        held.enter_context(installation.start_runner())
        log = held.enter_context(KafkaEventLog(kafka))
        watched = Watched(log, held.enter_context(Store.open(installation.clickhouse)))
        watched.prepare()
        times = [watched.latency_ms(number) for number in range(MODELS)]
        asking = statistics.median(watched.asking_ms() for _ in range(MODELS))
    median, last = statistics.median(times), statistics.quantiles(times, n=100)[98]
    print(f"{MODELS} models: median {median:.0f} ms, 99th percentile {last:.0f} ms")
    print(f"asking the store once: {asking:.0f} ms")
    print(f"99th percentile / aim of {AIM_MS:.0f} ms: {last / AIM_MS:.2f}")


if __name__ == "__main__":
    main()
