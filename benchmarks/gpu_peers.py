"""How long ONNX Runtime takes for the nine models as a whole on an NVIDIA GPU, at its best:

    python -m benchmarks.gpu_peers FILE --precision fp32,tf32,fp16 --batch 1,32

It needs `onnxruntime-gpu` in the place of `onnxruntime`. Each model is tried with images in both
layouts as a CUDA graph, without one where that fails, and the best of these with fused biases as
well. What the JSON file holds already is kept, and not timed again unless it failed.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, prod, sqrt
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from onnx import ModelProto, TensorProto, helper, numpy_helper

from benanza_ingest.zoo import zoo_names, zoo_path
from benanza_runner import nvidia
from benanza_runner.layer_model import IR_VERSION
from benanza_runner.onnxruntime_session import CPU, Provider
from benanza_runner.reasons import one_line
from benanza_runner.sampling import Timing, collect
from benanza_runner.stopping import Rule, summary
from benanza_schemas.layer import Precision
from benchmarks.half import half
from benchmarks.whole_model import Arrays, whole_model

CUDA = "CUDAExecutionProvider"
FIRST_CALLS = 3
"""In these algorithms are searched for, and graphs captured."""

RULE = Rule(
    warm_up_us=100_000,
    samples=30,
    least_us=200_000,
    few_samples=30,
    cap_us=1_000_000,
    max_samples=2_000,
)
SUMMING = ("Conv", "Gemm", "MatMul")
MOST_ERROR = 0.05
"""Of the norm of the result, against float32 on the CPU. Rounding to fp16 took resnet50 to 0.037,
with every configuration alike.
"""


class Configuration(msgspec.Struct, frozen=True):
    """The options of the CUDA provider that aren't better one way for every model."""

    nhwc: bool
    graph: bool
    fused_bias: bool = False

    def provider(self, precision: Precision) -> Provider:
        """The provider with all its options."""
        options = {
            "cudnn_conv_algo_search": "EXHAUSTIVE",
            "cudnn_conv_use_max_workspace": "1",
            "use_tf32": "1" if precision == "tf32" else "0",
            "prefer_nhwc": "1" if self.nhwc else "0",
            "enable_cuda_graph": "1" if self.graph else "0",
            "fuse_conv_bias": "1" if self.fused_bias else "0",
        }
        return Provider(CUDA, "cuda", options)

    def title(self) -> str:
        """For people: `NHWC, CUDA graph`."""
        graph = ", CUDA graph" if self.graph else ""
        return f"{'NHWC' if self.nhwc else 'NCHW'}{graph}{', fused bias' * self.fused_bias}"


GRAPHS, SINGLE_STARTS = (
    tuple(Configuration(nhwc, graph) for nhwc in (False, True)) for graph in (True, False)
)
"""Each model as a CUDA graph, and where that can't be had with each kernel started by itself."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one configuration: what a call takes, from its start to its end as the host
    sees it, or why there is no time.

    `error` is ‖result − expected‖ / ‖expected‖, and `on_cpu` names operators that the
    provider left to the CPU.
    """

    configuration: Configuration
    median_us: float | None = None
    iqr_us: float | None = None
    samples: int = 0
    error: float | None = None
    on_cpu: tuple[str, ...] = ()
    failure: str = ""


class Result(msgspec.Struct, frozen=True):
    """A model at a precision and a batch size. `failure` says why nothing could be tried."""

    model: str
    precision: Precision
    batch: int
    attempts: tuple[Attempt, ...] = ()
    failure: str = ""

    def key(self) -> tuple[str, Precision, int]:
        """What tells it from others."""
        return self.model, self.precision, self.batch

    def best(self) -> Attempt | None:
        """The fastest configuration, if any gave the right result."""
        right = [attempt for attempt in self.attempts if not attempt.failure]
        return min(right, key=_median_us, default=None)

    def line(self) -> str:
        """The result for people, in one line; failures with their reasons."""
        begin = f"{self.model:<14}{self.precision:<6}batch {self.batch:<5}"
        best = self.best()
        if best is None:
            reasons = dict.fromkeys(attempt.failure for attempt in self.attempts)
            return f"{begin}failed: {self.failure or '; '.join(reasons)}"
        beside = f"; on the CPU: {', '.join(best.on_cpu)}" if best.on_cpu else ""
        return (
            f"{begin}{best.configuration.title():<30}{best.median_us:>10.1f} µs, "
            f"IQR {best.iqr_us:.1f}, error {best.error:.1g}{beside}"
        )


class Peers(msgspec.Struct):
    """The file. `tiny` are calls of a model with one kernel that does nothing much: what the
    host takes of each call.
    """

    system: dict[str, str] = {}
    tiny: list[Attempt] = []
    results: list[Result] = []

    def holds(self, model: str, precision: Precision, batch: int) -> bool:
        """Whether this was timed; what failed is to be tried again."""
        wanted = (model, precision, batch)
        return any(result.key() == wanted and result.best() for result in self.results)

    def add(self, result: Result) -> None:
        """Takes a result in, in the place of an earlier one of the same."""
        self.results = [each for each in self.results if each.key() != result.key()]
        self.results.append(result)


def _median_us(attempt: Attempt) -> float:
    return attempt.median_us or 0.0


class WholeSession:
    """A model that is called with its inputs and outputs on the device.

    Raises whatever ONNX Runtime raises, and `RuntimeError` where it would go without the
    provider.
    """

    def __init__(self, model: ModelProto, inputs: Arrays, provider: Provider) -> None:
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        self._provider = provider
        self._session = ort.InferenceSession(
            model.SerializeToString(),
            options,
            providers=[(provider.name, dict(provider.options))],
            enable_fallback=0,
        )
        if provider.name not in self._session.get_providers():
            raise RuntimeError(f"{provider.name} can't be loaded here")
        self._binding = self._session.io_binding()
        self._bound = []
        for name, array in inputs.items():
            value = ort.OrtValue.ortvalue_from_numpy(array, provider.device)
            self._binding.bind_ortvalue_input(name, value)
            self._bound.append(value)
        self._outputs = [self._output(each) for each in model.graph.output]

    def _output(self, output: Any) -> Any:
        kind = output.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        value = ort.OrtValue.ortvalue_from_shape_and_type(
            shape, kind.elem_type, self._provider.device
        )
        self._binding.bind_ortvalue_output(output.name, value)
        return value

    def call(self) -> Timing:
        """Runs the model once, to its end."""
        started = time.perf_counter_ns()
        self._session.run_with_iobinding(self._binding)
        return Timing((time.perf_counter_ns() - started) / 1_000, disturbed=False)

    def output(self) -> npt.NDArray[Any]:
        """What the last call wrote into the first output."""
        found: npt.NDArray[Any] = self._outputs[0].numpy()
        return found

    def left_to_others(self) -> tuple[str, ...]:
        """The operators that other providers run, each once."""
        return tuple(
            dict.fromkeys(
                node.op_type
                for part in self._session.get_provider_graph_assignment_info()
                if part.ep_name != self._provider.name
                for node in part.get_nodes()
            )
        )


class Whole:
    """A model with its weights, its inputs, and what they come to."""

    def __init__(self, name: str, batch: int) -> None:
        proto, weights, self._inputs = whole_model(zoo_path(name).read_bytes(), batch)
        self._model = with_weights(proto, tamed(proto, weights))
        session = WholeSession(self._model, self._inputs, CPU)
        session.call()
        self.expected = session.output()

    def at(self, precision: Precision) -> tuple[ModelProto, Arrays]:
        """The model and its inputs in the type of the precision."""
        if precision != "fp16":
            return self._model, self._inputs
        halves = {
            name: array.astype(np.float16) if array.dtype == np.float32 else array
            for name, array in self._inputs.items()
        }
        return half(self._model), halves


def tamed(proto: ModelProto, weights: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Weights with which a model neither overflows float16 nor dies away: those that sums of
    products are made with are scaled as He et al. (ICCV 2015) begin to train with.
    """
    made = dict(weights)
    for node in proto.graph.node:
        name = node.input[1] if len(node.input) > 1 else ""
        if node.op_type not in SUMMING or name not in weights or made[name] is not weights[name]:
            continue
        array = weights[name]
        transposed = any(a.name == "transB" and a.i for a in node.attribute)
        outputs = array.shape[0 if node.op_type == "Conv" or transposed else -1]
        size = sqrt(2 * outputs / prod(array.shape))
        made[name] = array * np.float32(size / float(np.sqrt(np.mean(np.square(array)))))
    return made


def with_weights(proto: ModelProto, weights: Mapping[str, npt.NDArray[Any]]) -> ModelProto:
    """The model with these elements in its initializers, as a file would have them."""
    made = ModelProto()
    made.CopyFrom(proto)
    made.ir_version = IR_VERSION
    for tensor in made.graph.initializer:
        if tensor.name in weights:
            tensor.CopyFrom(numpy_helper.from_array(weights[tensor.name], tensor.name))
    return made


def attempted(
    configuration: Configuration,
    provider: Provider,
    model: ModelProto,
    inputs: Arrays,
    expected: npt.NDArray[Any],
) -> Attempt:
    """Times the model. Whatever goes wrong is part of the attempt."""
    try:
        session = WholeSession(model, inputs, provider)
        for _ in range(FIRST_CALLS):
            session.call()
        samples = collect(session.call, RULE)
        times = summary(sorted(samples.calls_us))
        error = relative_error(session.output(), expected)
        right = error <= MOST_ERROR
        return Attempt(
            configuration=configuration,
            median_us=times.median,
            iqr_us=times.iqr,
            samples=len(samples.calls_us),
            error=error if isfinite(error) else None,
            on_cpu=session.left_to_others(),
            failure="" if right else f"wrong result: it is off by {error:.2g} of its norm",
        )
    except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
        return Attempt(configuration=configuration, failure=one_line(str(error)) or repr(error))


def relative_error(result: npt.NDArray[Any], expected: npt.NDArray[Any]) -> float:
    """‖result − expected‖ / ‖expected‖ in float64."""
    there = expected.astype(np.float64)
    return float(np.linalg.norm(result - there) / np.linalg.norm(there))


def timed(name: str, precision: Precision, batch: int, whole: Whole) -> Result:
    """The configurations of a model."""
    model, inputs = whole.at(precision)

    def attempt(configuration: Configuration) -> Attempt:
        provider = configuration.provider(precision)
        return attempted(configuration, provider, model, inputs, whole.expected)

    result = Result(name, precision, batch, tuple(map(attempt, GRAPHS)))
    if result.best() is None:
        attempts = (*result.attempts, *map(attempt, SINGLE_STARTS))
        result = msgspec.structs.replace(result, attempts=attempts)
    best = result.best()
    if best is None:
        return result
    fused = msgspec.structs.replace(best.configuration, fused_bias=True)
    return msgspec.structs.replace(result, attempts=(*result.attempts, attempt(fused)))


def tiny(configuration: Configuration) -> Attempt:
    """What a call takes that has one element to look at."""
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
    precisions = [cast(Precision, each) for each in asked.precision.split(",")]
    ort.preload_dlls()
    found = asked.file.read_bytes() if asked.file.exists() else b"{}"
    peers = msgspec.json.decode(found, type=Peers)
    peers.tiny = [tiny(configuration) for configuration in (GRAPHS[0], SINGLE_STARTS[0])]
    for attempt in peers.tiny:
        took = attempt.failure or f"{attempt.median_us:.1f} µs"
        print(f"one tiny kernel, {attempt.configuration.title()}: {took}", flush=True)
    peers.system = nvidia.gpu()._asdict() | {"onnxruntime": ort.__version__}
    for batch in map(int, asked.batch.split(",")):
        for name in asked.models.split(","):
            lacking = [each for each in precisions if not peers.holds(name, each, batch)]
            for result in results(name, lacking, batch):
                print(result.line(), flush=True)
                peers.add(result)
                text = msgspec.json.format(msgspec.json.encode(peers))
                asked.file.write_bytes(text)


def results(name: str, precisions: Sequence[Precision], batch: int) -> Iterator[Result]:
    """A model at these precisions, one after the other."""
    if not precisions:
        return
    try:
        whole = Whole(name, batch)
    except Exception as error:  # noqa: BLE001  # the other models are to be timed all the same
        failure = one_line(f"{type(error).__name__}: {error}")
        yield from (Result(name, precision, batch, failure=failure) for precision in precisions)
        return
    for precision in precisions:
        yield timed(name, precision, batch, whole)


if __name__ == "__main__":
    main()
