"""Exports at batch 1 that ingest binds to another batch, against exports at that batch:

    python -m benchmarks.pytorch.export data/exports --models all --batch 1
    python -m benchmarks.pytorch.export data/exports --models all --batch 8
    python -m benchmarks.pytorch.rebatched data/exports --batch 8

prints a table in Markdown: a model is the same in both ways, or refused with a reason. If one
differs, it is bound wrongly, and the exit code is 1.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from benanza_ingest.errors import ModelError
from benanza_schemas.events import BenchmarkRequested, ModelIngested
from benanza_schemas.layer import Layer
from benchmarks.pytorch.bounds import ingested


class _Layer(NamedTuple):
    identity: Layer | str
    flops: int


Layers = Counter[_Layer]
Ingested = tuple[ModelIngested, list[BenchmarkRequested]]
"""A model's layers, and a job for each layer and group."""


class Compared(NamedTuple):
    """A model bound to a batch, and its export at that batch. `verdict` is what is shown of it."""

    name: str
    wrong: bool
    verdict: str


def main() -> None:
    """Compares each model that the folder has two exports of."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, default=8)
    asked = parser.parse_args()
    print("| model | bound to the batch, against its export |\n|---|---|")
    wrong = 0
    for comparison in compared(asked.folder, asked.batch):
        wrong += comparison.wrong
        print(f"| {comparison.name} | {comparison.verdict} |", flush=True)
    sys.exit(wrong > 0)


def compared(folder: Path, batch: int) -> Iterator[Compared]:
    """Each model of which the folder has an export at batch 1 and one at this batch."""
    for path in sorted(folder.glob(f"*-b{batch}.onnx")):
        name = path.stem.removesuffix(f"-b{batch}")
        alone = folder / f"{name}-b1.onnx"
        if not alone.exists():
            continue
        there = ingested(name, path.read_bytes(), batch)
        try:
            here = ingested(name, alone.read_bytes(), batch)
        except ModelError as error:
            yield Compared(name, wrong=False, verdict=f"refused: {error}")
            continue
        yield Compared(name, *judged(here, there))


def judged(here: Ingested, there: Ingested) -> tuple[bool, str]:
    """Whether what was bound is not what was exported, and what differs.

    Views don't count: exporters leave some away where a size is 1. Nor do constants that an
    exporter repeats for the whole batch, such as masks.
    """
    exact, _ = _difference(*(_layers(side, repeated=True) for side in (here, there)))
    differing, ratio = _difference(*(_layers(side, repeated=False) for side in (here, there)))
    if differing:
        return True, f"**{differing} layers differ**, FLOPs of the export times {ratio:.3g}"
    views = abs(len(here[0].layers) - len(there[0].layers))
    but = [f"views: {views}"] * (views > 0)
    but += [f"repeated constants: {exact // 2}"] * (exact > 0)
    return False, "the same" + (f", but for {', '.join(but)}" if but else "")


def _difference(ours: Layers, theirs: Layers) -> tuple[int, float]:
    """How many layers only one of them has, and the ratio of their FLOPs."""
    flops = [
        sum(layer.flops * count for layer, count in layers.items()) for layers in (ours, theirs)
    ]
    return (ours - theirs).total() + (theirs - ours).total(), flops[0] / max(1, flops[1])


def _layers(side: Ingested, *, repeated: bool) -> Layers:
    """The layers that take time. Unless `repeated`, a constant has but one for the whole batch."""
    model, jobs = side
    layers = {job.fingerprint: job.layer for job in jobs}
    summaries = [model.summaries[use.summary] for use in model.layers]
    return Counter(
        _Layer(
            _once(layers[summary.fingerprint], model.batch)
            if summary.fingerprint and not repeated
            else summary.fingerprint or summary.op,
            summary.flops,
        )
        for summary in summaries
        if summary.kind != "view"
    )


def _once(layer: Layer, batch: int) -> Layer:
    tensors = (
        replace(tensor, shape=(1, *tensor.shape[1:]), value=None)
        if tensor.constant and tensor.shape[:1] == (batch,)
        else tensor
        for tensor in layer.tensors
    )
    return replace(layer, tensors=tuple(tensors))


if __name__ == "__main__":
    main()
