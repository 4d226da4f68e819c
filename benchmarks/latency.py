"""How long from a model's event to its bounds in ClickHouse, where all its layers are known?

Every service is a process of its own, over a real broker and ClickHouse's engine behind HTTP.
Models that differ in their checksums alone are published at a fixed pace, whether or not the ones
before are done. A model's time ends when the store writes its row, by the store's clock: from then
on the views have its bounds, which is checked at the end. Nobody asks meanwhile, since the engine
does one thing at a time. The times are printed as ratios to the aim at the 99th percentile.
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

AIM_MS = 100.0
MODEL = "squeezenet"
MODELS = 500
EVERY_S = 0.1
BOUNDS = 4
"""Of a model on one system at one precision: two accountings, each with fusion and without."""

STORED = "SELECT model_id, toFloat64(min(stored_at)) AS at FROM models GROUP BY model_id"
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

    def latencies_ms(self, numbers: range) -> list[float]:
        """From the event to the row, for models that are published one each `EVERY_S` seconds."""
        models = [published(number) for number in numbers]
        sent_at: dict[str, float] = {}
        began = time.time()
        for number, model in enumerate(models):
            time.sleep(max(0.0, began + number * EVERY_S - time.time()))
            sent_at[model_id(model.sha256, 1, {})] = time.time()
            self._log.append([as_message(model)])
        until(lambda: all(self.ask(FOUND, model) >= BOUNDS for model in models))
        stored = {row["model_id"]: row["at"] for row in self._store.query(STORED)}
        return [(stored[identity] - sent) * 1000 for identity, sent in sent_at.items()]

    def asking_ms(self) -> float:
        """How long it takes to ask once for the bounds of a model."""
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
        times = watched.latencies_ms(range(MODELS))
        asking = statistics.median(watched.asking_ms() for _ in range(MODELS))
    median, last = statistics.median(times), statistics.quantiles(times, n=100)[98]
    print(f"{MODELS} models: median {median:.0f} ms, 99th percentile {last:.0f} ms")
    print(f"asking the store for the bounds of one: {asking:.0f} ms")
    print(f"99th percentile / aim of {AIM_MS:.0f} ms: {last / AIM_MS:.2f}")


if __name__ == "__main__":
    main()
