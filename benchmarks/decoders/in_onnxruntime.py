"""Steps of decoders on a CPU: bounds beside ONNX Runtime, which keeps their caches in place:

    python -m benchmarks.decoders.in_onnxruntime OUT.jsonl DATA zoo:decoder:llama-3.2-1b-step \\
        --batch 1,8 --dim past=1023

Layers are measured into the folder DATA. A cache that GroupQueryAttention appends to and its
result are one buffer in ONNX Runtime, long enough for both; all tokens are seen. OUT.jsonl gets a
line for each model and batch size: the sequential bound and the median of calls, in microseconds.
Where the bound is above the run, both are measured up to three times, in folders of their own;
then the lowest bound stands beside the fastest run. What fails is there with the reason.
"""

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import msgspec
import numpy as np
import onnxruntime as ort

import benanza
from benanza.onnxruntime.options import ON_CPU
from benanza.onnxruntime.session import options_of
from benanza.profiling.whole_model import WholeModel, whole_model
from benanza.publishing.fetched_once import FetchedOnce
from benanza_backbone.errors import BenanzaError
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_runner.cpu import available_cores, cpu_name
from benanza_runner.measuring.sampling import Timing, collect
from benanza_runner.onnxruntime.session import CPU
from benanza_runner.reasons import short_reason
from benchmarks.cpu.ways import RULE
from benchmarks.record import points_of

ROUNDS = 3

MASK = "attention_mask"
"""Of ones, so that all tokens are seen."""

CACHES = ((3, 1), (4, 2))
"""Of GroupQueryAttention: an input that is a cache, and the output that it becomes."""


class Row(msgspec.Struct, frozen=True):
    """What came of a step; `shared` are the caches that ONNX Runtime keeps in place."""

    model: str
    batch: int
    dims: dict[str, int]
    bound_us: float = 0.0
    partial: bool = False
    run_us: float = 0.0
    calls: int = 0
    shared: int = 0
    failure: str = ""
    cpu: str = ""
    threads: int = 0


def main() -> None:
    """Measures, and prints each row to standard error as well."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--batch", default="1")
    parser.add_argument("--dim", action="append", default=[])
    asked = parser.parse_args()
    for model in asked.models:
        for batch in map(int, asked.batch.split(",")):
            for dims in points_of(asked.dim):
                row = measured(model, batch, dims, asked.data)
                with asked.out.open("ab") as file:
                    file.write(msgspec.json.encode(row) + b"\n")
                print(row, file=sys.stderr, flush=True)


def measured(model: str, batch: int, dims: Mapping[str, int], data: Path) -> Row:
    """The bound of a step and its run, again where the bound is above it."""
    row = Row(model, batch, dict(dims), cpu=cpu_name(), threads=available_cores())
    try:
        content = FetchedOnce().whole(model, Limits())
        for number in range(1, ROUNDS + 1):
            folder = data if number == 1 else data.with_name(f"{data.name}-{number}")
            bounds = benanza.lower_bound(
                model, batch=batch, dims=dict(dims), runtime="onnxruntime", data=folder
            ).bounds
            (bound,) = bounds
            times, shared = run(whole_model(content, batch, dims))
            row = msgspec.structs.replace(
                row,
                bound_us=min(filter(None, (row.bound_us, bound.sequential_us))),
                partial=bound.partial,
                run_us=min(filter(None, (row.run_us, median(times)))),
                calls=row.calls + len(times),
                shared=shared,
            )
            if row.run_us >= row.bound_us:
                break
    except (BenanzaError, ModelError, RuntimeError, ValueError) as error:
        return msgspec.structs.replace(row, failure=short_reason(str(error)))
    return row


def run(model: WholeModel) -> tuple[list[float], int]:
    """Times of calls in microseconds, and how many caches are kept in place."""
    kept = {
        node.input[into]: node.output[out]
        for node in model.proto.graph.node
        if node.op_type == "GroupQueryAttention"
        for into, out in CACHES
        if node.input[into] in model.inputs
    }
    results = {value.name: value for value in model.proto.graph.output}
    inputs = {value.name: value for value in model.proto.graph.input}
    arrays = dict(model.inputs)
    if MASK in arrays:
        arrays[MASK] = np.ones_like(arrays[MASK])
    for cache, result in kept.items():
        inputs[cache].type.CopyFrom(results[result].type)
        shape = [dim.dim_value for dim in results[result].type.tensor_type.shape.dim]
        longer = np.zeros(shape, arrays[cache].dtype)
        longer[:, :, : arrays[cache].shape[2]] = arrays[cache]
        arrays[cache] = longer
    options = options_of(model, ON_CPU[0], available_cores())
    session = ort.InferenceSession(model.proto.SerializeToString(), options, providers=[CPU.name])
    binding = session.io_binding()
    values = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    of_result = {result: values[cache] for cache, result in kept.items()}
    for name in results:
        if name in of_result:
            binding.bind_ortvalue_output(name, of_result[name])
        else:
            binding.bind_output(name)

    def call() -> Timing:
        started = time.perf_counter_ns()
        session.run_with_iobinding(binding)
        return Timing((time.perf_counter_ns() - started) / 1_000, disturbed=False)

    return list(collect(call, RULE).calls_us), len(kept)


if __name__ == "__main__":
    main()
