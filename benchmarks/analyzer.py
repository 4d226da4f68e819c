"""The analyzer: what one measurement costs, by how many models there are and how large."""

import gc
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from statistics import median

import msgspec
import networkx
from rich.console import Console
from rich.table import Table

from benanza_analyzer.core import Analyzer
from benanza_schemas.events import (
    Ceiling,
    Group,
    LayerMeasured,
    LayerSummary,
    LayerUse,
    ModelIngested,
    System,
    SystemMeasured,
    Variant,
    event_id,
    identified,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SYSTEM = identified(
    System(
        system_id="0" * 32,
        runtime="synthetic",
        accelerator="",
        driver="",
        cuda="",
        cudnn="",
        cublas="",
        cpu="",
        threads=1,
        libraries={},
        method="1",
    )
)
BLOCK = ("Conv", "BatchNormalization", "Add", "Relu", "Concat")
"""A block whose Add also reads what the block before it wrote. Its prefixes are groups, up to
the Relu; only one of the accountings counts the Concat."""

MODELS = (10, 1_000, 100_000)
SHARING = 5
"""How many models contain a layer, however many models there are."""

SMALL = 20
LARGE = 10_000
LONGEST = 4
"""The layers of the longest group where groups overlap all along a model."""

REPEATS = 31


def main() -> None:
    """Prints the cost by the number of models, and that of one large model: with groups that
    overlap within small blocks, and with groups that overlap all along the model.
    """
    console = Console()
    console.print(_by_number_of_models())
    model = residual_model(0, LARGE, "large")
    console.print(_large_model(model))
    console.print(_large_model(msgspec.structs.replace(model, groups=_everywhere(LARGE, "large"))))


def _by_number_of_models() -> Table:
    table = Table(title=f"One measurement; {SHARING} models of {SMALL} layers contain the layer")
    for column in ("models", "bounds moved", "µs a measurement", "ratio to 10 models"):
        table.add_column(column, justify="right")
    analyzers = [Analyzer() for _ in MODELS]
    for analyzer, count in zip(analyzers, MODELS, strict=True):
        # No system is known yet, so that no bounds are computed while the models come in.
        for index in range(count):
            analyzer.handle(residual_model(index, SMALL, f"family {index // SHARING}"), NOW)
    layer = fingerprint_of("family 0", 0)
    costs = _measure_again([(analyzer, layer) for analyzer in analyzers])
    for count, (moved, seconds) in zip(MODELS, costs, strict=True):
        ratio = seconds / costs[0][1]
        table.add_row(f"{count:,}", str(moved), f"{seconds * 1e6:,.0f}", f"{ratio:.2f}")
    return table


def _large_model(model: ModelIngested) -> Table:
    """Layers all different and all measured, and all in groups that are measured as well."""
    table = Table(title=f"A model of {LARGE:,} layers and {len(model.groups):,} groups, all known")
    for column in ("", "bounds moved", "ms", "ratio to networkx"):
        table.add_column(column, justify="right")
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from((s, t, 1.0 + s % 7) for s, t in model.edges)
    peer = _median_seconds(lambda: networkx.dag_longest_path(graph))
    analyzer = Analyzer()
    analyzer.restore(
        SystemMeasured(
            event_id=SYSTEM.system_id,
            system=SYSTEM,
            measured_at=NOW,
            ceilings=(Ceiling("bandwidth", "fp32", 1e11, 0.0), Ceiling("flops", "fp32", 1e12, 0.0)),
        )
    )
    parts: list[LayerSummary | Group] = [*model.summaries, *model.groups]
    for index, part in enumerate(parts):
        analyzer.restore(measured(part.fingerprint, 10.0 + index % 13))
    start = time.perf_counter()
    ingested = (len(analyzer.handle(model, NOW)), time.perf_counter() - start)
    layer, group = _measure_again(
        [(analyzer, part.fingerprint) for part in (parts[LARGE // 2], parts[-1])]
    )
    for what, moved, seconds in (
        ("networkx.dag_longest_path", 0, peer),
        ("the model is ingested", *ingested),
        ("a layer is measured again", *layer),
        ("a group is measured again", *group),
    ):
        table.add_row(what, str(moved or ""), f"{seconds * 1e3:.1f}", f"{seconds / peer:.2f}")
    return table


def _measure_again(subjects: Sequence[tuple[Analyzer, str]]) -> list[tuple[int, float]]:
    """For each analyzer and layer: how many bounds a new time moves, and the seconds it takes.

    Every round gives each layer a lower time; the rounds go through all subjects in turn, so
    that whatever else the machine does meets them alike. The seconds are medians.
    """
    gc.collect()
    gc.freeze()  # What was made up to here stays, and is not to be searched for garbage.
    moved = [0] * len(subjects)
    seconds: list[list[float]] = [[] for _ in subjects]
    for round_ in range(REPEATS):
        for index, (analyzer, fingerprint) in enumerate(subjects):
            event = measured(fingerprint, 9.0 / (1 + round_))
            start = time.perf_counter()
            moved[index] = len(analyzer.handle(event, NOW))
            seconds[index].append(time.perf_counter() - start)
    gc.unfreeze()
    return [(count, median(times)) for count, times in zip(moved, seconds, strict=True)]


def _median_seconds(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return median(seconds)


def fingerprint_of(weights: str, position: int, layers: int = 1) -> str:
    return event_id("layer", weights, str(position), str(layers))


def residual_model(index: int, layers: int, weights: str) -> ModelIngested:
    """A chain of blocks. Models with the same `weights` have the same layers, each at another batch
    size, so that no two are of one architecture.
    """
    size = len(BLOCK)
    edges = [(n, n + 1) for n in range(layers - 1)]
    edges += [(n - 1, n + 2) for n in range(size, layers - 2, size)]
    return ModelIngested(
        event_id=event_id("model", str(index)),
        model_id=event_id("model", str(index)),
        architecture_id=event_id("model", str(index)),
        name=f"model {index}",
        zoo="",
        sha256="0" * 64,
        opset=20,
        batch=1 + index % SHARING,
        dims={},
        summaries=tuple(
            LayerSummary(
                op=BLOCK[n % size],
                domain="",
                kind="movement" if BLOCK[n % size] == "Concat" else "compute",
                fingerprint=fingerprint_of(weights, n),
                flops=10**6,
                bytes=10**5,
            )
            for n in range(layers)
        ),
        layers=tuple(LayerUse(n, "") for n in range(layers)),
        edges=tuple(edges),
        groups=tuple(
            _group(weights, first, count)
            for first in range(0, layers - size + 1, size)
            for count in range(2, size)
        ),
    )


def _everywhere(layers: int, weights: str) -> tuple[Group, ...]:
    """All groups of successive layers, which have several results where the model branches."""
    return tuple(
        _group(weights, first, count)
        for first in range(layers)
        for count in range(2, LONGEST + 1)
        if first + count <= layers
    )


def _group(weights: str, first: int, count: int) -> Group:
    return Group(
        fingerprint=fingerprint_of(weights, first, count),
        rule="conv",
        layers=tuple(range(first, first + count)),
        flops=10**6 * count,
        bytes=10**5,
    )


def measured(fingerprint: str, median_us: float) -> LayerMeasured:
    """A layer measured on the synthetic system with one variant."""
    return LayerMeasured(
        event_id=event_id("measured", fingerprint, str(median_us)),
        fingerprint=fingerprint,
        system=SYSTEM,
        precision="fp32",
        measured_at=NOW,
        variants=(
            Variant(
                library="synthetic",
                algorithm="one",
                samples_us=(median_us,),
                minimum_us=median_us,
                median_us=median_us,
                iqr_us=0.1,
            ),
        ),
    )
