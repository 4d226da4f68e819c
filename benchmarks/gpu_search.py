"""Does the search for the fastest variant find it, and what does that cost?

    python -m benchmarks.gpu_search FILE --batch 1,32 --precision fp16,fp32 --limit-seconds 500

For each distinct convolution of resnet50 the search as the runtime makes it is compared with all
plans that cuDNN has in both layouts, each timed in full. Wanted: within 2% of the best at no more
than a fifth of the time. What the file of JSON lines holds already is kept, and not done again:
so the limit may be too short for everything, and the same command again goes on from there.
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
from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.graph_timer import GraphTimer
from benanza_runner.cuda.guard import Guard
from benanza_runner.cuda.lowering.lower import Lowered, lower
from benanza_runner.cuda.reference import reference
from benanza_runner.cuda.runtime import CudaRuntime
from benanza_runner.cuda.trials import HOPELESS_FACTOR, PLAN, Trials
from benanza_runner.measuring.search import Round
from benanza_runner.precision import retyped
from benanza_schemas.events import Variant
from benanza_schemas.layer import Layer, Precision
from benchmarks.search_report import Compared, Cost, compared, markdown

MODEL = "resnet50"
ALL = 1_000
"""More than there are of anything."""

EVERYTHING = PLAN._replace(rounds=(Round(1, inf),), finalists=sys.maxsize)
SECONDS = 240
"""A search that takes longer hangs."""


class Arm:
    """One way of looking: a runtime's libraries, tried on the runtime's own stream."""

    def __init__(self, runtime: CudaRuntime, guard: Guard, **how: Any) -> None:
        self._runtime = runtime
        self._stream = cupy.cuda.get_current_stream()  # A runtime begins with making its own.
        self._timer = GraphTimer(self._stream)
        self._trials = Trials(runtime.libraries(), self._timer, guard, **how)

    def variants(
        self, lowered: Lowered, precision: Precision, expected: Any, name: str
    ) -> tuple[list[Variant], Cost]:
        """All variants, and what looking at them cost."""
        self._stream.use()
        self._timer.spent_us = 0.0
        started = time.perf_counter()
        bench = Bench(lowered, precision)
        found = self._trials.variants(bench, expected, name)
        cost = Cost(time.perf_counter() - started, self._timer.spent_us / 1e6)
        return found, cost


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
    search = Arm(CudaRuntime(), guard, plan=PLAN, hopeless_factor=HOPELESS_FACTOR)
    exhaustive = Arm(CudaRuntime(ALL, ALL), guard, plan=EVERYTHING, hopeless_factor=inf)
    left = len(wanted)
    with asked.file.open("ab") as file:
        for fingerprint, layer, batch, precision in wanted:
            if time.monotonic() > until:
                break
            given = reference(retyped(layer, "fp32"), precision, available_cores())
            lowered = lower(retyped(layer, "fp32"), given.values)
            # The search first: what is loaded once for both is on its account.
            found = [
                arm.variants(lowered, precision, given.outputs, f"{fingerprint} {precision}")
                for arm in (search, exhaustive)
            ]
            row = compared(title(layer), fingerprint, precision, batch, *found)
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
    image, filters = (layer.tensors[index].shape for index in operator.inputs[:2])
    result = layer.tensors[operator.outputs[0]].shape
    shapes = ("×".join(map(str, shape)) for shape in (image[1:], result[1:], filters[2:]))
    return "{} → {}, {}".format(*shapes)


if __name__ == "__main__":
    main()
