"""Where bounds take longest beyond what the device's memory needs: kinds of kernels to look at.

    python -m benchmarks.pytorch.losses OUT.layers.gz EXPORT... --batch 32 --bytes-per-s 3e12

`OUT.layers.gz` is that of `benchmarks.pytorch.compare`. For each export whose layers it has, this
prints what share of the bound are layout conversions; then the calls without products that lose
most, of all models, by their share of the bound.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from benanza_analyzer.answers.calls import Call, Cover
from benanza_runner.core import ON_TENSOR_CORES
from benanza_schemas.events import LayerMeasured, ModelIngested
from benanza_schemas.layer import Layer, Precision
from benchmarks.pytorch.bounds import ingested
from benchmarks.pytorch.covers import analyzer_of
from benchmarks.pytorch.measurements import events_in

CALL_US = 1.2
"""About what the smallest call in a CUDA graph takes, whatever it moves."""

SHOWN = 30


class Loss(NamedTuple):
    """Calls of one layer or group in a model's bound: how often, for how long, and what the memory
    alone would take. `share` is what is lost of the bound.
    """

    model: str
    title: str
    calls: int
    us: float
    least_us: float
    share: float


def main() -> None:
    """Prints a line for each model, and a table of losses."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("layers", type=Path)
    parser.add_argument("exports", type=Path, nargs="+")
    parser.add_argument("--precision", choices=get_args(Precision), default="fp16")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--bytes-per-s", type=float, required=True, help="of the memory")
    asked = parser.parse_args()
    events = [event for event in events_in(asked.layers) if event.precision == asked.precision]
    rows: list[Loss] = []
    for export in asked.exports:
        model, jobs = ingested(export.stem, export.read_bytes(), asked.batch)
        layers = {job.fingerprint: job.layer for job in jobs}
        cover = cover_of(model, [event for event in events if event.fingerprint in layers])
        if cover is None or cover.lacking:
            continue
        moved_us = sum(call.conversion_us for call in cover.calls)
        total_us = cover.sequential_us
        print(f"{export.stem}: {total_us:.1f} µs, {moved_us / total_us:.1%} layout conversions")
        rows += losses(export.stem, cover, layers, asked.bytes_per_s)
    print(table(rows))


def cover_of(model: ModelIngested, events: Sequence[LayerMeasured]) -> Cover | None:
    """The calls of the model's bound by these measurements, which are of one system and precision;
    None if there are none.
    """
    if not events:
        return None
    analyzer = analyzer_of(events)
    analyzer.restore(model)
    system_id, precision = events[0].system.system_id, events[0].precision
    return analyzer.cover(model.architecture_id, system_id, precision, "full", fusion=True)


def losses(
    name: str,
    cover: Cover,
    layers: dict[str, Layer],
    bytes_per_s: float,
) -> Iterator[Loss]:
    """What each layer and group without products loses against this rate of the memory."""
    alike: dict[str, list[Call]] = defaultdict(list)
    for call in cover.calls:
        if call.fingerprint and not _multiplies(layers[call.fingerprint]):
            alike[call.fingerprint].append(call)
    for fingerprint, calls in alike.items():
        us = sum(call.us for call in calls)
        least_us = sum(CALL_US + call.bytes / bytes_per_s * 1e6 for call in calls)
        share = (us - least_us) / cover.sequential_us
        yield Loss(name, layers[fingerprint].title(), len(calls), us, least_us, share)


def _multiplies(layer: Layer) -> bool:
    """Whether it has products other than depth-wise convolutions, which the memory limits."""
    for operator in layer.operators:
        if operator.op_type in ON_TENSOR_CORES:
            filters = layer.tensors[operator.inputs[1]].shape
            if operator.op_type != "Conv" or filters[1:2] != (1,):
                return True
    return False


def table(rows: Iterable[Loss]) -> str:
    """The greatest losses in Markdown."""
    lines = ["", "| model | layers | calls | µs | memory alone, µs | lost of the bound |"]
    lines.append("|---|---|---|---|---|---|")
    for loss in sorted(rows, key=lambda row: -row.share)[:SHOWN]:
        figures = f"{loss.calls} | {loss.us:.1f} | {loss.least_us:.1f} | {loss.share:.1%}"
        lines.append(f"| {loss.model} | {loss.title} | {figures} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
