"""Does the memory of the services stay flat while a million layer events go through them?

Every service is a process of its own, over a real broker and ClickHouse's engine behind HTTP.
The nine models are published once, and then the same under other checksums over and over, with the
layer events that another ingest process would make of them: what there is to remember stays the
same, no layer is new, and only the events are many.
`python -m benchmarks.memory [EVENTS]`
"""

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import onnx
import psutil
from rich.console import Console
from rich.table import Table

from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.service.processor import as_message
from benanza_ingest.limits import Limits
from benanza_ingest.published import ingest_published
from benanza_ingest.reading.zoo import zoo_names, zoo_path
from benanza_schemas.codec import decode
from benanza_schemas.events import LayerSeen, ModelPublished
from benanza_schemas.topics import LAYERS, MODELS
from tests.benanza.processes import Installation, ServiceProcess, until
from tests.kafka_broker import KafkaBroker, lacking

EVENTS = 1_000_000
ROWS = 10
PUBLISHED_AHEAD = 30_000
"""Layer events that may wait for dedupe before more models are published."""

STANDSTILL_S = 120.0
WANTED = 1.1
"""The end against half way, when all has been loaded and all caches and heaps have filled."""

MEGABYTE = 1_000_000


def main(events: int = EVENTS) -> None:
    """Prints the resident memory of each service along the way."""
    if reason := lacking():
        raise SystemExit(reason)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="benanza-bench-")))
        broker = KafkaBroker(folder / "kafka")
        broker.start()
        held.callback(broker.stop)
        installation = Installation(KafkaConnection(bootstrap=(broker.bootstrap,)), folder)
        held.enter_context(installation.start_clickhouse())
        services = {
            name: held.enter_context(installation.start(name))
            for name in ("ingest", "dedupe", "analyzer")
        }
        services["runner"] = held.enter_context(installation.start_runner())
        log = held.enter_context(KafkaEventLog(installation.kafka))
        originals, copies = (_models(folder / text, text) for text in ("original", "copy"))
        copies += [layer for copy in copies for layer in _layers(copy)]
        log.append(originals)
        # So that they own all layers: an owner's event that comes again makes its job again.
        until(lambda: _consumed(services["ingest"], MODELS) == len(originals))
        until(
            lambda: _consumed(services["dedupe"], LAYERS) == sum(log.end_offsets(LAYERS).values())
        )
        rows = []
        for row in range(1, ROWS + 1):
            done = _publish_until(log, copies, services["dedupe"], events * row // ROWS)
            rows.append((done, {name: _resident(service) for name, service in services.items()}))
            print(f"{done:,.0f} layer events", file=sys.stderr, flush=True)
    table = Table(title="Resident memory in MB, processes of a service together")
    for column in ("layer events", *services):
        table.add_column(column, justify="right")
    for done, resident in rows:
        table.add_row(f"{done:,.0f}", *(f"{megabytes:,.0f}" for megabytes in resident.values()))
    half_way, end = rows[ROWS // 2 - 1][1], rows[-1][1]
    table.add_section()
    growth = {name: end[name] / half_way[name] for name in services}
    table.add_row("end / half way", *(f"{ratio:.2f}" for ratio in growth.values()))
    worst = max(growth.values())
    table.caption = f"wanted: at most {WANTED}; {'met' if worst <= WANTED else 'not met'}"
    Console().print(table)


def _models(folder: Path, text: str) -> list[Message]:
    """The nine models with this text in them, as files in this folder."""
    folder.mkdir()
    messages = []
    for name in zoo_names():
        model = onnx.load(zoo_path(name))
        model.doc_string = text
        onnx.save(model, folder / f"{name}.onnx")
        for asked in asked_models(str(folder / f"{name}.onnx"), RunRequest(models=()), Limits()):
            messages.append(as_message(asked.event))
    return messages


def _layers(published: Message) -> list[Message]:
    """The layer events of a model whose architecture nobody knows."""
    event = decode(published.value)
    assert isinstance(event, ModelPublished)
    ingested = ingest_published(event, Limits())
    return [as_message(layer) for layer in ingested if isinstance(layer, LayerSeen)]


def _publish_until(
    log: KafkaEventLog, models: list[Message], dedupe: ServiceProcess, events: int
) -> float:
    """Publishes until dedupe has taken that many layer events; returns how many it has."""
    before, moved_at = -1.0, time.monotonic()
    while (done := _consumed(dedupe, LAYERS)) < events:
        if done > before:
            before, moved_at = done, time.monotonic()
        if time.monotonic() - moved_at > STANDSTILL_S:
            raise SystemExit(f"stands still after {done:,.0f} layer events: {dedupe.errors()}")
        if sum(log.end_offsets(LAYERS).values()) - done < PUBLISHED_AHEAD:
            log.append(models)
        time.sleep(0.5)
    return done


def _consumed(service: ServiceProcess, topic: str) -> float:
    try:
        return service.metric(f'records_consumed_total{{topic="{topic}"}}')
    except StopIteration:  # it has consumed nothing yet
        return 0.0


def _resident(service: ServiceProcess) -> float:
    process = psutil.Process(service.pid)
    together = [process, *process.children(recursive=True)]
    megabytes: float = sum(member.memory_info().rss for member in together) / MEGABYTE
    return megabytes


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
