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

from msgspec.structs import replace

from benanza.importing.recording import read_recording
from benanza.publishing.zoo_models import zoo
from benanza_analyzer.core import Analyzer
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
from benchmarks.million_page import Costs, page

RECORDING = Path(__file__).parents[1] / "recordings" / "nvidia-h200-zoo.xz"
COPIES = 1, 2
PER_ARCHITECTURE = 40
"""Checkpoints of each architecture that are stored to see what they take."""

MOVED = 200
"""Results after which bounds are computed, to see what that takes."""


def main() -> None:
    """Prints the page."""
    events = list(_ingested())
    graphs = [event for event in events if isinstance(event, ModelIngested)]
    checkpoints = [event for event in events if isinstance(event, CheckpointIngested)]
    results = list(_results())
    costs = [_costs(graphs, results, copies) for copies in COPIES]
    bounds, move_s, moved = _moved(graphs, results)
    rows = _row_bytes(checkpoints, graphs, bounds, results)
    print(page(costs, [graphs, checkpoints, results, bounds], move_s, moved, rows))


def _ingested() -> Iterator[Ingested]:
    for model in zoo(exported=True).models:
        content = fetch(model.model, Limits()).content
        sha256 = hashlib.sha256(content).hexdigest()
        identity = event_id("ModelPublished", model.model)
        published = ModelPublished(event_id=identity, name=model.model, sha256=sha256)
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
    seconds = [_restored(analyzer, events) for events in encoded]
    del analyzer
    gc.collect()
    tracemalloc.start()
    weighed = Analyzer()
    held = [0]
    for events in encoded:
        _restored(weighed, events)
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    del weighed
    sizes = [after - before for before, after in pairwise(held)]
    return Costs(len(encoded[0]), len(encoded[1]), *sizes, *seconds)


def _restored(analyzer: Analyzer, encoded: Sequence[bytes]) -> float:
    began = time.perf_counter()
    for content in encoded:
        match decode(content):
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
        variant
        if variant.median_us is None
        else replace(variant, median_us=0.9 * variant.median_us)
        for variant in result.variants
    )
    identity = event_id("faster", result.event_id)
    return replace(result, event_id=identity, variants=variants)


def _row_bytes(
    checkpoints: Sequence[CheckpointIngested], *others: Sequence[AnyEvent]
) -> dict[str, tuple[int, float]]:
    """For each table its rows, and the bytes of a row on the disk."""
    tuned = [
        replace(
            checkpoint,
            event_id=event_id("tuned", checkpoint.event_id, str(copy)),
            model_id=event_id("tuned", checkpoint.model_id, str(copy)),
            name=f"{checkpoint.name}-tuned-{copy}",
        )
        for checkpoint in checkpoints
        for copy in range(PER_ARCHITECTURE)
    ]
    with TemporaryDirectory() as folder, Store.open(f"chdb://{folder}/store") as store:
        for events in (tuned, *others):
            for first in range(0, len(events), 2000):
                store.insert(list(events[first : first + 2000]))
        sizes = store.query(
            "SELECT table, sum(rows) AS n, sum(bytes_on_disk) AS bytes FROM system.parts "
            "WHERE active AND database = currentDatabase() GROUP BY table HAVING n > 0"
        )
    return {row["table"]: (row["n"], row["bytes"] / row["n"]) for row in sizes}


if __name__ == "__main__":
    main()
