"""What one more checkpoint of a known architecture costs, in an embedded installation.

The nine models of the zoo are the architectures; all their layers and groups are measured, with
times that are made up. Their checkpoints differ in file, name and the names of layers. Each goes
the whole way: it is published, ingested, analyzed and stored, until its bounds are there.

    python -m benchmarks.checkpoints [CHECKPOINTS]
"""

import gc
import hashlib
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import NamedTuple

import onnx
from rich.console import Console
from rich.table import Table

from benanza.installation.embedded import drain
from benanza_analyzer.sink import sink_step
from benanza_analyzer.step import analyzer_step
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_backbone.service.step import Step
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX, zoo_names
from benanza_ingest.step import ingest_step
from benanza_schemas.codec import decode
from benanza_schemas.events import AnyEvent, ModelIngested, ModelPublished, event_id
from benanza_schemas.topics import GRAPHS, TOPICS
from benchmarks.analyzer import measured

CHECKPOINTS = 1_000
BYTES_WANTED = 2_000
P99_WANTED_MS = 100

BOUNDS = "SELECT count() AS n FROM current_bounds WHERE model = {name:String}"


class Installation(NamedTuple):
    """An embedded one, with each of its services."""

    log: EventLog
    store: Store
    ingest: Step
    analyzer: Step
    sink: Step

    def publish(self, *events: AnyEvent) -> dict[str, float]:
        """Appends events, and takes them through all services; the milliseconds of each."""
        self.log.append([as_message(event) for event in events])
        return {
            name: _ms(lambda step=step: drain(step))  # type: ignore[misc]
            for name, step in (
                ("ingest", self.ingest),
                ("analyzer", self.analyzer),
                ("store", self.sink),
            )
        }

    def records(self) -> Counter[str]:
        """How many records each topic has."""
        return Counter({topic: sum(1 for _ in self.log.records(topic)) for topic in TOPICS})


def main(checkpoints: int = CHECKPOINTS) -> None:
    """Prints the cost of a checkpoint, and of a measurement of a layer of theirs."""
    files = {name: fetch(f"{PREFIX}{name}", Limits()).content for name in zoo_names()}
    with TemporaryDirectory() as name:
        folder = Path(name)
        with _installed(folder) as installation:
            installation.publish(*(_published(name, content) for name, content in files.items()))
            installation.publish(*_measurements(installation.log))
            before = installation.records()
        of_architectures = _analyzer_bytes(folder)
        with _installed(folder) as installation:
            times = [installation.publish(model) for model in _copies(files, checkpoints)]
            added = installation.records() - before
            bounds = sum(
                installation.store.query(BOUNDS, {"name": f"{name} 0"})[0]["n"] for name in files
            )
        kept = (_analyzer_bytes(folder) - of_architectures) / checkpoints
        with _installed(folder) as installation:
            again = installation.publish(next(_measurements(installation.log, 1.0)))
            moved = (installation.records() - before - added)["bounds"]
    table = Table(title=f"{checkpoints:,} checkpoints of {len(files)} architectures")
    for column in ("", "measured", "wanted"):
        table.add_column(column, justify="right")
    table.add_row("bytes that the analyzer keeps of each", f"{kept:,.0f}", f"{BYTES_WANTED:,}")
    table.add_row("records that they add", ", ".join(f"{t} {n:,}" for t, n in added.items()), "")
    table.add_row("bounds of the first of each", f"{bounds:,}", f"{4 * len(files):,}")
    for name in (*times[0], "all"):
        ms = [
            sum(service_ms.values()) if name == "all" else service_ms[name] for service_ms in times
        ]
        p99 = quantiles(ms, n=100)[-1]
        wanted = f"{P99_WANTED_MS} ms" if name == "all" else ""
        table.add_row(f"{name}: median, 99th percentile", f"{median(ms):.1f}, {p99:.1f} ms", wanted)
    table.add_row("bounds that a layer measured again moves", f"{moved:,}", "")
    table.add_row("analyzed in", f"{again['analyzer']:.1f} ms", "")
    Console().print(table)


@contextmanager
def _installed(folder: Path) -> Iterator[Installation]:
    with (
        SqliteEventLog(folder / "events.sqlite") as log,
        Store.open(f"chdb://{folder}/store") as store,
        ingest_step(log, Limits(), now) as ingest,
        analyzer_step(log, now) as analyzer,
        sink_step(log, store, now) as sink,
    ):
        yield Installation(log, store, ingest, analyzer, sink)


def _published(name: str, content: bytes) -> ModelPublished:
    sha256 = hashlib.sha256(content).hexdigest()
    identity = event_id("ModelPublished", name, sha256)
    return ModelPublished(event_id=identity, name=name, sha256=sha256, content=content)


def _copies(files: dict[str, bytes], checkpoints: int) -> Iterator[ModelPublished]:
    """Checkpoints of each file in turn, with other names of nodes, as other weights would have."""
    models = {name: onnx.load_from_string(content) for name, content in files.items()}
    names = list(models)
    for number in range(checkpoints):
        name = names[number % len(names)]
        copy = onnx.ModelProto()
        copy.CopyFrom(models[name])
        for node in copy.graph.node:
            node.name = f"{node.name} {number}"
        yield _published(f"{name} {number // len(names)}", copy.SerializeToString())


def _measurements(log: EventLog, us: float = 10.0) -> Iterator[AnyEvent]:
    """A measurement of each layer and group of the graphs in the log."""
    graphs = [decode(record.value) for record in log.records(GRAPHS)]
    models = [graph for graph in graphs if isinstance(graph, ModelIngested)]
    of_layers = {part.fingerprint for model in models for part in model.summaries}
    of_groups = {part.fingerprint for model in models for part in model.groups}
    for index, fingerprint in enumerate(sorted((of_layers | of_groups) - {""})):
        yield measured(fingerprint, us + index % 13)


def _analyzer_bytes(folder: Path) -> int:
    """The bytes that an analyzer holds that has read the log."""
    gc.collect()
    tracemalloc.start()
    with SqliteEventLog(folder / "events.sqlite") as log, analyzer_step(log, now) as analyzer:
        analyzer.turn(limit=1)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - began)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
