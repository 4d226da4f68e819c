"""A million models of 20,000 architectures with 2,000,000 layers, from what the zoo's models take.

The graphs are those of all models of the zoo, the results those of its recording on an H200, and
copies of both under other fingerprints: twice as many show whether memory and time grow in
proportion. What a row takes is asked of ClickHouse. The rest is multiplication.

    python -m benchmarks.million > docs/results/million.md
"""

import gc
import hashlib
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from msgspec.structs import replace

from benanza.importing.recording import read_recording
from benanza.publishing.zoo_models import zoo
from benanza_analyzer.core import Analyzer
from benanza_analyzer.service import LONGEST_REBUILD_S
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_ingest.core import Ingested, ingest
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_schemas.architecture import architecture_id
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import (
    AnyEvent,
    BoundUpdated,
    CheckpointIngested,
    LayerMeasured,
    ModelIngested,
    ModelPublished,
    event_id,
)

RECORDING = Path(__file__).parents[1] / "recordings" / "nvidia-h200-zoo.xz"
MODELS, ARCHITECTURES, LAYERS = 1_000_000, 20_000, 2_000_000
COPIES = 1, 2
PER_ARCHITECTURE = 40
"""Checkpoints of each architecture that are stored to see what they take."""

MOVED = 200
"""Results after which bounds are computed, to see what that takes."""

GB = 1e9
DAYS = 365
MEMORY_GB = 24
READ_BYTES_PER_S = 100e6
"""What a copy has, and how fast it reads the log: assumed."""


class Costs(NamedTuple):
    """What the analyzer needs for so many graphs and results: bytes and seconds."""

    graphs: int
    results: int
    graph_bytes: int
    result_bytes: int
    graph_s: float
    result_s: float


def main() -> None:
    """Prints the page."""
    events = list(_ingested())
    graphs = [event for event in events if isinstance(event, ModelIngested)]
    checkpoints = [event for event in events if isinstance(event, CheckpointIngested)]
    results = list(_results())
    costs = [_costs(graphs, results, copies) for copies in COPIES]
    bounds, move_s, moved = _moved(graphs, results)
    rows = _row_bytes(checkpoints, graphs, bounds, results)
    print(_page(costs, [graphs, checkpoints, results, bounds], move_s, moved, rows))


def _ingested() -> Iterator[Ingested]:
    for each in zoo(exported=True).models:
        content = fetch(each.model, Limits()).content
        sha256 = hashlib.sha256(content).hexdigest()
        identity = event_id("ModelPublished", each.model)
        published = ModelPublished(event_id=identity, name=each.model, sha256=sha256)
        yield from ingest(published, content, Limits())


def _results() -> Iterator[LayerMeasured]:
    for _, event in read_recording(RECORDING):
        if isinstance(event, LayerMeasured):
            yield event


def _copy(fingerprint: str, copy: int) -> str:
    return event_id("copy", fingerprint, str(copy)) if fingerprint and copy else fingerprint


def _copied_graph(graph: ModelIngested, copy: int) -> ModelIngested:
    """The graph with other layers."""
    summaries = tuple(
        replace(part, fingerprint=_copy(part.fingerprint, copy)) for part in graph.summaries
    )
    groups = tuple(
        replace(part, fingerprint=_copy(part.fingerprint, copy)) for part in graph.groups
    )
    identity = architecture_id(graph.batch, summaries, graph.layers, graph.edges, groups)
    return replace(graph, summaries=summaries, groups=groups, architecture_id=identity)


def _encoded(
    graphs: Sequence[ModelIngested], results: Sequence[LayerMeasured], copies: int
) -> tuple[list[bytes], list[bytes]]:
    return (
        [encode(_copied_graph(graph, copy)) for copy in range(copies) for graph in graphs],
        [
            encode(replace(result, fingerprint=_copy(result.fingerprint, copy)))
            for copy in range(copies)
            for result in results
        ],
    )


def _costs(graphs: Sequence[ModelIngested], results: Sequence[LayerMeasured], copies: int) -> Costs:
    """What an analyzer needs that is started with so many copies: once timed, once weighed."""
    encoded = _encoded(graphs, results, copies)
    analyzer = Analyzer()
    seconds = [_restored(analyzer, each) for each in encoded]
    del analyzer
    gc.collect()
    tracemalloc.start()
    weighed = Analyzer()
    held = [0]
    for each in encoded:
        _restored(weighed, each)
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    del weighed
    sizes = [after - before for before, after in pairwise(held)]
    return Costs(len(encoded[0]), len(encoded[1]), *sizes, *seconds)


def _restored(analyzer: Analyzer, encoded: Sequence[bytes]) -> float:
    began = time.perf_counter()
    for each in encoded:
        match decode(each):
            case ModelIngested() | LayerMeasured() as event:
                analyzer.restore(event)
    return time.perf_counter() - began


def _moved(
    graphs: Sequence[ModelIngested], results: Sequence[LayerMeasured]
) -> tuple[list[BoundUpdated], float, float]:
    """Bounds that results move; the seconds that one takes; and the bounds that a result moves."""
    analyzer = Analyzer()
    for graph in graphs:
        analyzer.restore(graph)
    for result in results[:-MOVED]:
        analyzer.restore(result)
    for result in results[-MOVED:]:
        analyzer.handle(result, now())
    bounds: list[BoundUpdated] = []
    began = time.perf_counter()
    for result in results[-MOVED:]:
        bounds += analyzer.handle(_faster(result), now())
    return bounds, (time.perf_counter() - began) / max(1, len(bounds)), len(bounds) / MOVED


def _faster(result: LayerMeasured) -> LayerMeasured:
    """The layer measured again, in nine tenths of the time."""
    variants = tuple(
        each if each.median_us is None else replace(each, median_us=0.9 * each.median_us)
        for each in result.variants
    )
    identity = event_id("faster", result.event_id)
    return replace(result, event_id=identity, variants=variants)


def _row_bytes(
    checkpoints: Sequence[CheckpointIngested], *others: Sequence[AnyEvent]
) -> dict[str, tuple[int, float]]:
    """For each table its rows, and the bytes of a row on the disk."""
    tuned = [
        replace(
            each,
            event_id=event_id("tuned", each.event_id, str(copy)),
            model_id=event_id("tuned", each.model_id, str(copy)),
            name=f"{each.name}-tuned-{copy}",
        )
        for each in checkpoints
        for copy in range(PER_ARCHITECTURE)
    ]
    with TemporaryDirectory() as folder, Store.open(f"chdb://{folder}/store") as store:
        for events in (tuned, *others):
            for first in range(0, len(events), 2000):
                store.insert(list(events[first : first + 2000]))
        found = store.query(
            "SELECT table, sum(rows) AS n, sum(bytes_on_disk) AS bytes FROM system.parts "
            "WHERE active AND database = currentDatabase() GROUP BY table HAVING n > 0"
        )
    return {row["table"]: (row["n"], row["bytes"] / row["n"]) for row in found}


def _mean_bytes(events: Sequence[AnyEvent]) -> float:
    return sum(len(encode(event)) for event in events) / max(1, len(events))


def _page(
    costs: Sequence[Costs],
    events: Sequence[Sequence[AnyEvent]],
    move_s: float,
    moved: float,
    rows: dict[str, tuple[int, float]],
) -> str:
    once, twice = costs
    graphs, checkpoints, results, bounds = events
    more_graphs, more_results = twice.graphs - once.graphs, twice.results - once.results
    graph_b = (twice.graph_bytes - once.graph_bytes) / more_graphs
    result_b = (twice.result_bytes - once.result_bytes) / more_results
    graph_s, result_s = twice.graph_s / twice.graphs, twice.result_s / twice.results
    lines = [*INTRODUCTION.splitlines(), *HEAD]
    for name, n, each_b, each_s, total in (
        ("graphs", once.graphs, once.graph_bytes / once.graphs, once.graph_s / once.graphs, 0),
        ("twice as many", twice.graphs, graph_b, graph_s, ARCHITECTURES),
        (
            "results",
            once.results,
            once.result_bytes / once.results,
            once.result_s / once.results,
            0,
        ),
        ("twice as many", twice.results, result_b, result_s, LAYERS),
    ):
        all_b = f"{total * each_b / GB:,.1f} GB" if total else ""
        all_s = f"{total * each_s / 60:,.0f} min" if total else ""
        lines.append(
            f"| {name} | {n:,} | {each_b:,.0f} | {1e6 * each_s:,.0f} | {all_b} | {all_s} |"
        )
    copies = (1, 2, 4, 8)
    lines += ["", "So a copy of the analyzer takes, for one system at one precision:", ""]
    lines += ["| copies | memory of each | start of each |", "|---|---|---|"]
    for copy in copies:
        held = (ARCHITECTURES / copy * graph_b + LAYERS * result_b) / GB
        start = (ARCHITECTURES / copy * graph_s + LAYERS * result_s) / 60
        lines.append(f"| {copy} | {held:,.1f} GB | {start:,.0f} min |")
    hours = LAYERS * moved * move_s / 3600
    lines += [
        "",
        f"A result moves {moved:.1f} bounds of the zoo in the mean, each in {1e3 * move_s:.1f} ms: "
        f"{hours:,.1f} hours for all results of a system at a precision, which the copies share.",
        "",
        *_first_to_break(result_b, result_s, _mean_bytes(results)),
        *RECORDS,
    ]
    for name, of, number in (
        ("`graphs`", graphs, ARCHITECTURES),
        ("`checkpoints`", checkpoints, MODELS),
        ("`results`, of a system and precision", results, LAYERS),
        ("`bounds`, the same", bounds, 4 * ARCHITECTURES),
    ):
        size, a_day = _mean_bytes(of), number / DAYS
        lines.append(
            f"| {name} | {number:,} | {size:,.0f} | {number * size / GB:,.1f} GB | {a_day:,.0f} |"
        )
    lines += ROWS
    per = len(graphs)
    for table, number in (
        ("models", MODELS),
        *((f"architecture_{part}", ARCHITECTURES) for part in ("layers", "edges", "groups")),
        ("measurements", LAYERS),
        ("architecture_bounds", 4 * ARCHITECTURES),
    ):
        n, size = rows[table]
        each = {"models": 1.0, "measurements": n / len(results), "architecture_bounds": 1.0}
        kept = number * each.get(table, n / per)
        lines.append(
            f"| `{table}` | {kept:,.0f} | {size:,.0f} | {kept * size / GB:,.2f} GB "
            f"| {kept / DAYS:,.0f} |"
        )
    return "\n".join(lines)


def _first_to_break(result_b: float, result_s: float, event_b: float) -> list[str]:
    """What a copy can't do any more, by the number of systems and precisions with all results."""
    restart_s = LAYERS * (result_s + event_b / READ_BYTES_PER_S)
    slow, full = LONGEST_REBUILD_S / restart_s, MEMORY_GB * GB / (LAYERS * result_b)
    return [
        "### What breaks first",
        "",
        "Results. A copy reads and keeps all of them, however many copies there are. For each "
        f"system and precision it reads {LAYERS * event_b / GB:,.1f} GB at its start, which takes "
        f"{restart_s / 60:,.0f} minutes at {READ_BYTES_PER_S / 1e6:,.0f} MB/s, and keeps "
        f"{LAYERS * result_b / GB:,.1f} GB. So with {slow:,.1f} of them a start takes longer than "
        f"the {LONGEST_REBUILD_S / 60:,.0f} minutes after which it counts as hung, and with "
        f"{full:,.0f} they fill {MEMORY_GB} GB of memory. It also reads when each bound was "
        "computed, a tenth of these bytes, and keeps nothing of it.",
        "",
        "The remedies, in this order: keep the best of each layer's results in a compacted topic, "
        "instead of reading all again; keep only what the copy's own architectures contain, and "
        "ask the store for the layers of a new one. Neither is built.",
    ]


INTRODUCTION = f"""# A million models

`python -m benchmarks.million > docs/results/million.md` writes this page. It says what {MODELS:,} models
of {ARCHITECTURES:,} architectures with {LAYERS:,} layers and groups would take, by what the zoo's
models take: their graphs, the results of their recording on an H200 in fp16, and copies of both
with other layers. That memory and time grow in proportion is seen up to twice the zoo; beyond, it
is assumed.

## The analyzer

"""

HEAD = (
    "| | number | bytes of each | µs of each | bytes of all | time of all |",
    "|---|---|---|---|---|---|",
)

RECORDS = (
    "",
    "## The event log",
    "",
    "Before compression and copies:",
    "",
    "| topic | events | bytes of each | in all | a day, if they come within a year |",
    "|---|---|---|---|---|",
)

ROWS = (
    "",
    "## ClickHouse",
    "",
    "On the disk, compressed, one version of each bound:",
    "",
    "| table | rows | bytes of a row | in all | a day |",
    "|---|---|---|---|---|",
)

if __name__ == "__main__":
    main()
