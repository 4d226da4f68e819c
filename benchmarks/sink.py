"""How fast do results get into ClickHouse, against a bare batched insert of the same rows?

The sink reads them from the embedded log, decodes them, makes rows, inserts them, stores how far
it is, and commits; the bare side inserts rows made before, in batches of the same size. Both do
it in turns, each time into a new store of the engine in this process.
"""

import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from benanza_analyzer.service import STORED_AT_ONCE
from benanza_analyzer.sink import sink_step
from benanza_backbone.clickhouse.connection import connected, parse_address
from benanza_backbone.clickhouse.rows import Row, rows
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import LayerMeasured, System, Variant, event_id, identified
from benanza_schemas.vocabulary import StoppedBy

RESULTS = 20_000
ROUNDS = 5
WANTED = 0.7
VARIANTS, SAMPLES = 3, 30

Batch = dict[str, list[Row]]


def main() -> None:
    """Prints both rates, and their ratio."""
    events = [_measured(number) for number in range(RESULTS)]
    chunks = [events[start : start + STORED_AT_ONCE] for start in range(0, RESULTS, STORED_AT_ONCE)]
    batches = [_batch(chunk) for chunk in chunks]
    sink, bare = [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="benanza-bench-") as folder:
            sink.append(_sink_s(Path(folder), events))
        with tempfile.TemporaryDirectory(prefix="benanza-bench-") as folder:
            bare.append(_bare_s(Path(folder), batches))
    ratios = [b / s for b, s in zip(bare, sink, strict=True)]
    ratio = statistics.median(ratios)
    console = Console()
    for name, seconds in (("sink", sink), ("bare insert", bare)):
        console.print(f"{name}: {RESULTS / statistics.median(seconds):,.0f} results a second")
    console.print(
        f"sink / bare: {ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f}); wanted: "
        f"{WANTED}; {'met' if ratio >= WANTED else 'not met'}"
    )


def _measured(number: int) -> LayerMeasured:
    samples = tuple(100.0 + number % 7 + sample / 10 for sample in range(SAMPLES))
    variants = [
        Variant(
            library="cudnn",
            algorithm=f"plan {variant}",
            samples_us=samples,
            minimum_us=samples[0],
            median_us=samples[SAMPLES // 2],
            iqr_us=1.0,
            stopped_by=StoppedBy.CONVERGED,
        )
        for variant in range(VARIANTS)
    ]
    return LayerMeasured(
        event_id=event_id("LayerMeasured", str(number)),
        fingerprint=event_id("layer", str(number)),
        system=_SYSTEM,
        precision="fp32",
        measured_at=datetime(2026, 1, 1, tzinfo=UTC),
        variants=tuple(variants),
    )


_SYSTEM = identified(
    System(
        system_id="0" * 32,
        runtime="bench",
        accelerator="",
        driver="",
        cuda="",
        cudnn="",
        cublas="",
        cpu="a cpu",
        threads=1,
        libraries={},
        method="1",
    )
)


def _batch(events: list[LayerMeasured]) -> Batch:
    batch: Batch = {}
    for event in events:
        for table, new in rows(event).items():
            batch.setdefault(table, []).extend(new)
    return batch


def _sink_s(folder: Path, events: list[LayerMeasured]) -> float:
    with (
        SqliteEventLog(folder / "events.sqlite") as log,
        Store.open(f"chdb://{folder}/store") as store,
    ):
        log.append([as_message(event) for event in events])
        began = time.perf_counter()
        with sink_step(log, store, now) as step:
            step.turn(STORED_AT_ONCE)  # The first one may only find out where to begin.
            while step.waiting():
                step.turn(STORED_AT_ONCE)
        seconds = time.perf_counter() - began
        (stored,) = store.query("SELECT count() AS n FROM measurements")
        assert stored["n"] == RESULTS * VARIANTS, stored
        return seconds


def _bare_s(folder: Path, batches: list[Batch]) -> float:
    dsn = f"chdb://{folder}/store"
    Store.open(dsn).close()  # makes the tables
    with connected(parse_address(dsn)) as client:
        began = time.perf_counter()
        for batch in batches:
            for table, new in batch.items():
                client.insert(table, [list(row.values()) for row in new], column_names=list(new[0]))
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
