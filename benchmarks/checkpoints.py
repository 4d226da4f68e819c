"""What one more checkpoint of a known architecture costs the analyzer, in memory and time.

The nine models of the zoo are the architectures; their checkpoints differ in names and ids only.
All layers and groups are measured, with times that are made up.
`python -m benchmarks.checkpoints [CHECKPOINTS]`
"""

import gc
import sys
import time
import tracemalloc
from collections.abc import Iterable
from datetime import UTC, datetime
from statistics import median, quantiles

import msgspec
from rich.console import Console
from rich.table import Table

from benanza_analyzer.core import Analyzer
from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX, zoo_names
from benanza_schemas.events import LayerUse, ModelIngested, ModelPublished, event_id
from benchmarks.analyzer import measured

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CHECKPOINTS = 1_000
BYTES_WANTED = 2_000
P99_WANTED_S = 0.1


def main(checkpoints: int = CHECKPOINTS) -> None:
    """Prints the cost of a checkpoint, and of a measurement of a layer of theirs."""
    architectures = [_ingested(name) for name in zoo_names()]
    analyzer = Analyzer()
    of_layers = {part.fingerprint for each in architectures for part in each.summaries}
    of_groups = {part.fingerprint for each in architectures for part in each.groups}
    fingerprints = sorted((of_layers | of_groups) - {""})
    for index, fingerprint in enumerate(fingerprints):
        analyzer.restore(measured(fingerprint, 10.0 + index % 13))
    for model in architectures:
        analyzer.handle(model, NOW)
    kept, seconds = _published(analyzer, architectures, checkpoints)
    moved, again_s = _measured_again(analyzer, architectures)
    table = Table(title=f"{checkpoints:,} checkpoints of {len(architectures)} architectures")
    for column in ("", "measured", "wanted"):
        table.add_column(column, justify="right")
    p99_s = quantiles(seconds, n=100)[-1]
    table.add_row("bytes that a checkpoint keeps", f"{kept:,.0f}", f"{BYTES_WANTED:,}")
    table.add_row("ms until it has its bounds, median", f"{median(seconds) * 1e3:.1f}", "")
    table.add_row("99th percentile", f"{p99_s * 1e3:.1f}", f"{P99_WANTED_S * 1e3:.0f}")
    table.add_row("bounds that a layer measured again moves", f"{moved:,}", "")
    table.add_row("ms that this takes", f"{again_s * 1e3:.1f}", "")
    Console().print(table)


def _published(
    analyzer: Analyzer, architectures: list[ModelIngested], checkpoints: int
) -> tuple[float, list[float]]:
    """The bytes that each checkpoint leaves, and the seconds that each takes."""
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(checkpoints // 2):
        analyzer.handle(_checkpoint(architectures[number % len(architectures)], number), NOW)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()  # It makes everything slower.
    seconds = []
    for number in range(checkpoints // 2, checkpoints):
        event = _checkpoint(architectures[number % len(architectures)], number)
        start = time.perf_counter()
        analyzer.handle(event, NOW)
        seconds.append(time.perf_counter() - start)
    return (after - before) / (checkpoints // 2), seconds


def _measured_again(
    analyzer: Analyzer, architectures: Iterable[ModelIngested]
) -> tuple[int, float]:
    """The bounds that move when a layer of the last architecture takes less, and the seconds."""
    *_, last = architectures
    fingerprint = next(each.fingerprint for each in last.summaries if each.fingerprint)
    event = measured(fingerprint, 1.0)
    start = time.perf_counter()
    moved = analyzer.handle(event, NOW)
    return len(moved), time.perf_counter() - start


def _ingested(name: str) -> ModelIngested:
    fetched = fetch(f"{PREFIX}{name}", Limits())
    published = ModelPublished(
        event_id=event_id("ModelPublished", name), name=name, sha256=fetched.sha256
    )
    events = ingest(published, fetched.content, Limits())
    return next(event for event in events if isinstance(event, ModelIngested))


def _checkpoint(model: ModelIngested, number: int) -> ModelIngested:
    """The model as a file with other weights and names has it, read anew."""
    name = f"{model.name} {number}"
    event = msgspec.structs.replace(
        model,
        event_id=event_id("ModelIngested", name),
        model_id=event_id("model", name),
        name=name,
        layers=tuple(LayerUse(use.summary, f"{use.name} {number}") for use in model.layers),
    )
    return msgspec.msgpack.decode(msgspec.msgpack.encode(event), type=ModelIngested)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
