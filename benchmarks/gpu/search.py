"""Does the search for the fastest variant find it, and what does that cost?

    python -m benchmarks.gpu.search FILE --batch 1,32 --precision fp16,fp32 --limit-seconds 500

For each distinct convolution of resnet50, the search as the runtime makes it is compared with all
plans that cuDNN has in both layouts, each timed in full. The aim is a choice within 2% of the best,
at no more than a fifth of the time. Rows that the file of JSON lines holds already are kept and not
measured again. So the limit may be too short for everything: the same command goes on from there.
"""

import argparse
import sys
import time
from math import inf
from pathlib import Path
from typing import Any, cast

import cupy
import msgspec

from benanza_ingest.extract import extract
from benanza_ingest.reading.zoo import zoo_path
from benanza_runner.cpu import available_cores
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.kernels.layout_conversion import layout_conversion
from benanza_runner.cuda.lowering.lower import Lowered, lower
from benanza_runner.cuda.reference import reference
from benanza_runner.cuda.runtime import CudaRuntime
from benanza_runner.cuda.search.autotuner import PLAN, PRUNE_FACTOR, Autotuner
from benanza_runner.cuda.search.guard import Guard
from benanza_runner.cuda.search.layout_conversions import LayoutConversions
from benanza_runner.cuda.timing.graph_timer import GraphTimer
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.measuring.search import ScreeningRound
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.events import Variant
from benanza_schemas.layer import Layer, Precision
from benchmarks.gpu.search_report import Compared, Cost, compared, markdown

MODEL = "resnet50"
ALL = 1_000
"""More than there are plans or algorithms of any call."""

EVERYTHING = PLAN._replace(rounds=(ScreeningRound(1, inf),), finalists=sys.maxsize)
SECONDS = 240
"""A search that takes longer hangs."""


class TimedSearch:
    """One way of searching: a runtime's libraries, tried on the runtime's own stream."""

    def __init__(self, runtime: CudaRuntime, guard: Guard, **how: Any) -> None:
        self._runtime = runtime
        self._stream = cupy.cuda.get_current_stream()  # A runtime begins with making its own.
        self._timer = GraphTimer(self._stream)
        self._memory = DeviceMemory(cupy)
        conversions = LayoutConversions(self._timer, layout_conversion)
        self._autotuner = Autotuner(
            runtime.candidate_sources(), self._timer, guard, conversions, **how
        )

    def variants(
        self, lowered: Lowered, precision: Precision, expected: Any, name: str
    ) -> tuple[list[Variant], Cost]:
        """All variants, and what the search for the fastest cost."""
        self._stream.use()
        self._timer.spent_us = 0.0
        started = time.perf_counter()
        workspace = Workspace(lowered, precision, self._memory)
        tried = self._autotuner.variants(workspace, expected, name)
        cost = Cost(time.perf_counter() - started, self._timer.spent_us / 1e6)
        return tried, cost


def main() -> None:
    """Compares what the file lacks, and prints the table of all that it holds then."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--batch", default="1")
    parser.add_argument("--precision", default="fp16")
    parser.add_argument("--limit-seconds", type=float, default=inf)
    asked = parser.parse_args()
    until = time.monotonic() + asked.limit_seconds
    lines = asked.file.read_bytes() if asked.file.exists() else b""
    rows = msgspec.json.Decoder(Compared).decode_lines(lines)
    known = {(row.fingerprint, row.precision) for row in rows}
    wanted = [
        (fingerprint, layer, batch, cast(Precision, precision))
        for batch in map(int, asked.batch.split(","))
        for precision in asked.precision.split(",")
        for fingerprint, layer in convolutions(batch).items()
        if (fingerprint, precision) not in known
    ]
    guard = Guard(asked.file.with_suffix(".journal"), SECONDS, cupy.cuda.runtime.deviceSynchronize)
    search = TimedSearch(CudaRuntime(), guard, plan=PLAN, prune_factor=PRUNE_FACTOR)
    exhaustive = TimedSearch(CudaRuntime(ALL, ALL), guard, plan=EVERYTHING, prune_factor=inf)
    left = len(wanted)
    with asked.file.open("ab") as file:
        for fingerprint, layer, batch, precision in wanted:
            if time.monotonic() > until:
                break
            given = reference(retyped(layer, "fp32"), precision, available_cores())
            lowered = lower(retyped(layer, "fp32"), given.values)
            # The search first: what is loaded once for both is on its account.
            outcomes = [
                trials.variants(lowered, precision, given.outputs, f"{fingerprint} {precision}")
                for trials in (search, exhaustive)
            ]
            row = compared(title(layer), fingerprint, precision, batch, *outcomes)
            rows.append(row)
            file.write(msgspec.json.encode(row) + b"\n")
            file.flush()
            left -= 1
            cupy.get_default_memory_pool().free_all_blocks()
            print(f"{row.layer} {precision} batch {batch}: {row.ratio}", file=sys.stderr)
    print(markdown(rows))
    if left:
        raise SystemExit(f"{left} of {len(wanted)} are left for another time")


def convolutions(batch: int) -> dict[str, Layer]:
    """The model's convolutions by their fingerprints, each once."""
    model = extract(zoo_path(MODEL).read_bytes(), batch=batch)
    return {
        layer.fingerprint: layer.layer
        for layer in model.layers
        if layer.op == "Conv" and layer.layer is not None
    }


def title(layer: Layer) -> str:
    """A convolution's shapes for people, without the batch: `64×56×56 → 256×56×56, 1×1`."""
    operator = layer.operators[0]
    x, filters = (layer.tensors[index].shape for index in operator.inputs[:2])
    result = layer.tensors[operator.outputs[0]].shape
    shapes = ("×".join(map(str, shape)) for shape in (x[1:], result[1:], filters[2:]))
    return "{} → {}, {}".format(*shapes)


if __name__ == "__main__":
    main()
