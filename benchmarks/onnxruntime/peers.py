"""How long ONNX Runtime takes for the nine models as a whole on an NVIDIA GPU, at its best:

    python -m benchmarks.onnxruntime.peers FILE --precision fp32,tf32,fp16 --batch 1,32

It needs `onnxruntime-gpu` in the place of `onnxruntime`. Each model is tried with feature maps in
both layouts as a CUDA graph, or without one if that fails; the best of these also with fused
biases. What the JSON file holds already is kept, and not timed again unless it failed.
"""

import argparse
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import onnxruntime as ort
from onnx import ModelProto, TensorProto, helper

from benanza.profiling.whole_model import Arrays
from benanza_ingest.reading.zoo import zoo_names
from benanza_runner import nvidia
from benanza_runner.arrays import Array
from benanza_runner.measuring.sampling import collect
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.onnx_layers.layer_model import IR_VERSION
from benanza_runner.onnxruntime.session import Provider
from benanza_runner.reasons import short_reason
from benanza_schemas.layer import Precision
from benchmarks.onnxruntime.attempts import (
    GRAPHS,
    SINGLE_STARTS,
    OrtAttempt,
    OrtConfiguration,
    OrtResult,
    Peers,
)
from benchmarks.onnxruntime.session import ModelForOrt, WholeSession

FIRST_CALLS = 3
"""In these calls, ONNX Runtime searches for algorithms and captures graphs."""

RULE = Rule(
    warm_up_us=100_000,
    samples=30,
    least_us=200_000,
    few_samples=30,
    cap_us=1_000_000,
    max_samples=2_000,
)
MOST_ERROR = 0.05
"""The largest error of a right result, relative to its norm, against float32 on the CPU. Rounding
to fp16 took resnet50 to 0.037, with every configuration alike.
"""


def attempted(
    configuration: OrtConfiguration,
    provider: Provider,
    model: ModelProto,
    inputs: Arrays,
    expected: Array,
) -> OrtAttempt:
    """Times the model. Whatever goes wrong is part of the attempt."""
    try:
        session = WholeSession(model, inputs, provider)
        for _ in range(FIRST_CALLS):
            session.call()
        samples = collect(session.call, RULE)
        times = summary(sorted(samples.calls_us))
        error = relative_error(session.output(), expected)
        right = error <= MOST_ERROR
        return OrtAttempt(
            configuration=configuration,
            median_us=times.median,
            iqr_us=times.iqr,
            samples=len(samples.calls_us),
            error=error if isfinite(error) else None,
            on_cpu=session.left_to_others(),
            failure="" if right else f"wrong result: it is off by {error:.2g} of its norm",
        )
    except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
        return OrtAttempt(
            configuration=configuration, failure=short_reason(str(error)) or repr(error)
        )


def relative_error(result: Array, expected: Array) -> float:
    """‖result − expected‖ / ‖expected‖ in float64."""
    there = expected.astype(np.float64)
    return float(np.linalg.norm(result - there) / np.linalg.norm(there))


def timed(name: str, precision: Precision, batch: int, whole: ModelForOrt) -> OrtResult:
    """The configurations of a model."""
    model, inputs = whole.at(precision)

    def attempt(configuration: OrtConfiguration) -> OrtAttempt:
        provider = configuration.provider(precision)
        return attempted(configuration, provider, model, inputs, whole.expected)

    result = OrtResult(name, precision, batch, tuple(map(attempt, GRAPHS)))
    if result.best() is None:
        attempts = (*result.attempts, *map(attempt, SINGLE_STARTS))
        result = msgspec.structs.replace(result, attempts=attempts)
    best = result.best()
    if best is None:
        return result
    fused = msgspec.structs.replace(best.configuration, fused_bias=True)
    return msgspec.structs.replace(result, attempts=(*result.attempts, attempt(fused)))


def tiny(configuration: OrtConfiguration) -> OrtAttempt:
    """How long a call of a model with one tiny kernel takes."""
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in ("from", "to")]
    node = helper.make_node("Relu", ["from"], ["to"])
    graph = helper.make_graph([node], "tiny", info[:1], info[1:])
    opset = helper.make_opsetid("", 14)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
    one = np.ones(1, np.float32)
    return attempted(configuration, configuration.provider("fp32"), model, {"from": one}, one)


def main() -> None:
    """Times what the file lacks, and writes it after each result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--models", default=",".join(zoo_names()))
    parser.add_argument("--precision", default="fp32,tf32,fp16")
    parser.add_argument("--batch", default="1")
    asked = parser.parse_args()
    precisions = [cast(Precision, precision) for precision in asked.precision.split(",")]
    ort.preload_dlls()
    content = asked.file.read_bytes() if asked.file.exists() else b"{}"
    peers = msgspec.json.decode(content, type=Peers)
    peers.tiny = [tiny(configuration) for configuration in (GRAPHS[0], SINGLE_STARTS[0])]
    for attempt in peers.tiny:
        took = attempt.failure or f"{attempt.median_us:.1f} µs"
        print(f"one tiny kernel, {attempt.configuration.title()}: {took}", flush=True)
    peers.system = nvidia.gpu()._asdict() | {"onnxruntime": ort.__version__}
    for batch in map(int, asked.batch.split(",")):
        for name in asked.models.split(","):
            lacking = [
                precision for precision in precisions if not peers.holds(name, precision, batch)
            ]
            for result in results(name, lacking, batch):
                print(result.line(), flush=True)
                peers.add(result)
                text = msgspec.json.format(msgspec.json.encode(peers))
                asked.file.write_bytes(text)


def results(name: str, precisions: Sequence[Precision], batch: int) -> Iterator[OrtResult]:
    """A model at these precisions, one after the other."""
    if not precisions:
        return
    try:
        whole = ModelForOrt(name, batch)
    except Exception as error:  # noqa: BLE001  # the other models are to be timed all the same
        failure = short_reason(f"{type(error).__name__}: {error}")
        yield from (OrtResult(name, precision, batch, failure=failure) for precision in precisions)
        return
    for precision in precisions:
        yield timed(name, precision, batch, whole)


if __name__ == "__main__":
    main()
