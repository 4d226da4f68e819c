"""The services as steps over an event log: each core with what it reads and remembers."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from benanza_analyzer.core import Analyzer, AnalyzerEvent
from benanza_analyzer.model_check import InvalidModelError
from benanza_backbone.event_log import EventLog, Partition, Record
from benanza_backbone.step import Step
from benanza_backbone.store import Store
from benanza_dedupe.core import Dedupe
from benanza_ingest.core import ingest
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.source import fetch
from benanza_runner.core import Runner
from benanza_runner.isolated_runtime import RuntimeStartError
from benanza_runner.runtime import Runtime
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import (
    AnyEvent,
    BenchmarkRequested,
    BoundUpdated,
    LayerMeasured,
    LayerSeen,
    ModelIngested,
    ModelPublished,
    SystemMeasured,
)
from benanza_schemas.layer import Precision
from benanza_schemas.topics import BOUNDS, GRAPHS, JOBS, LAYERS, MODELS, RESULTS

Clock = Callable[[], datetime]

READ_AT_ONCE = 1000


def ingest_step(log: EventLog, limits: Limits, clock: Clock) -> Step:
    """Models to graphs and layers."""

    def handle(published: ModelPublished) -> list[ModelIngested | LayerSeen]:
        return ingest(published, _content(published, limits), limits)

    return Step(log, "ingest", [MODELS], ModelPublished, handle, clock)


def dedupe_step(log: EventLog, clock: Clock) -> Step:
    """Layers to jobs.

    The jobs in the log say which layers are known: what was written before a crash is there,
    and what wasn't is written when its layer comes again.
    """
    owners = {record.key.decode(): "" for record in records(log, JOBS)}
    return Step(log, "dedupe", [LAYERS], LayerSeen, Dedupe(owners).handle, clock)


def runner_step(log: EventLog, runtime: Runtime, precision: Precision, clock: Clock) -> Step:
    """Jobs to results on one system at one precision, from the first job on."""
    runner = Runner(runtime, [precision], clock)
    group = f"runner.{runner.system.system_id}.{precision}"
    stops_on = (RuntimeStartError,)
    return Step(log, group, [JOBS], BenchmarkRequested, runner.handle, clock, stops_on=stops_on)


def analyzer_step(log: EventLog, clock: Clock) -> Step:
    """Graphs and results to bounds, knowing what was handled before."""
    analyzer = Analyzer()

    def handle(event: AnalyzerEvent) -> list[BoundUpdated]:
        return analyzer.handle(event, clock())

    takes = (ModelIngested, SystemMeasured, LayerMeasured)
    step = Step(log, "analyzer", [GRAPHS, RESULTS], takes, handle, clock)
    handled = step.position()
    for topic in (GRAPHS, RESULTS):
        for record in records(log, topic, handled):
            try:
                event = decode(record.value)
                if isinstance(event, AnalyzerEvent):
                    analyzer.restore(event)
            except (DecodeError, InvalidModelError):
                # It went to the dead letters when it was handled.
                continue
    return step


def store_step(log: EventLog, store: Store, clock: Clock) -> Step:
    """What people ask for, into the store, a batch of records at a time."""
    batch: list[AnyEvent] = []

    def take(event: AnyEvent) -> list[AnyEvent]:
        batch.append(event)
        return []

    def flush() -> None:
        store.insert(batch)
        batch.clear()

    takes = (ModelIngested, BenchmarkRequested, SystemMeasured, LayerMeasured, BoundUpdated)
    return Step(log, "store", [GRAPHS, JOBS, RESULTS, BOUNDS], takes, take, clock, flush=flush)


def records(
    log: EventLog, topic: str, until: Mapping[Partition, int] | None = None
) -> Iterator[Record]:
    """The records of a topic, those of a partition in order; all, or those before an offset."""
    for partition, end in log.end_offsets(topic).items():
        stop = end if until is None else until.get(partition, 0)
        offset = 0
        while offset < stop and (found := log.read(partition, offset, READ_AT_ONCE)):
            yield from (record for record in found if record.offset < stop)
            offset = found[-1].offset + 1


def _content(published: ModelPublished, limits: Limits) -> bytes:
    """The ONNX file, from the event or from where it says. Raises `ModelError`."""
    if published.content is None:
        return fetch(published.uri, limits, published.sha256).content
    found = hashlib.sha256(published.content).hexdigest()
    if found != published.sha256:
        raise ModelError(
            f"the content of {published.name} has the SHA-256 {found}, not {published.sha256}; "
            "publish it again"
        )
    return published.content
