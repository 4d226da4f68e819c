"""Times networks of operators on a CPU as they run within a model.

    python run.py SUITE RESULTS [THREADS]

times the networks of a suite that `benanza suite export` wrote, which carries a copy of this file.
So it needs NumPy and ONNX Runtime alone.

A network is run operator by operator. In a loop of its own a small network has all in the first
caches, and its times add up to a sixth less than a model's. So before each call other data go
through the second cache, which leaves the weights in the last one. Then the memory of the results
is read, since a model writes them where earlier ones were, and the inputs are written, as a layer
before would do.
"""

import json
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort

FORMAT = 1
"""The version of suites and of their results."""

SAMPLES = 12
FEW_SAMPLES = 5
LONG_US = 300_000
"""As soon as the calls took so long together, a few samples are enough."""

EVICTING = 16
"""So many times the size of the second cache is read: about as much as a small model has of weights
and feature maps, so that those of a network are as far away as they are within a model.
"""

OVERHEAD_EVERY = 3
"""What a call takes without nodes is measured before every third sample."""

USUAL_CACHE_BYTES = 2 << 20
LINE_BYTES = 64
FURTHER_NODES = 10
"""By how many nodes the two networks differ that say what a node takes by itself."""

CACHE = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
PROCESSORS = Path("/proc/cpuinfo")

Arrays = Mapping[str, np.ndarray[Any, np.dtype[Any]]]


class Nodes(NamedTuple):
    """Encoded models of operators that take no time: one, and `FURTHER_NODES` more. Each reads
    `0`, a float32 of shape [1].
    """

    one: bytes
    more: bytes


class NetworkTimer:
    """Times networks on so many threads.

    What a call takes without nodes is measured along with each network: it takes longer, too, when
    other data went through the caches.
    """

    def __init__(self, nodes: Nodes, threads: int) -> None:
        self._threads = threads
        self._other = np.ones(EVICTING * second_cache_bytes() // 8, np.float64)
        # One thread each: the threads of several sessions would wait for work on the same cores.
        number = {"0": np.ones(1, np.float32)}
        self._before = _Session(nodes.one, {}, number, threads=1)
        self._one = _Session(nodes.one, {}, number, threads=1)
        self._more = _Session(nodes.more, {}, number, threads=1)

    def samples_us(self, model: bytes, constants: Arrays, inputs: Arrays) -> list[float]:
        """Times of calls in microseconds, in the order taken, less what a call takes that has no
        nodes. Raises whatever ONNX Runtime raises when it refuses the model.
        """
        session = _Session(model, constants, inputs, self._threads)
        written = [(array, array.copy()) for array in inputs.values()]
        results = [array.reshape(-1).view(np.uint8) for array in session.results]
        times: list[float] = []
        ones: list[float] = []
        more: list[float] = []
        self._call(session, written, results)
        while len(times) < SAMPLES and (len(times) < FEW_SAMPLES or sum(times) < LONG_US):
            if len(times) % OVERHEAD_EVERY == 0:
                ones.append(self._call(self._one))
                more.append(self._call(self._more))
            times.append(self._call(session, written, results))
        node = (median(more) - median(ones)) / FURTHER_NODES
        without_nodes = median(ones) - node
        return [max(us - without_nodes, 0.0) for us in times]

    def _call(
        self,
        session: "_Session",
        written: Sequence[tuple[Any, Any]] = (),
        results: Sequence[Any] = (),
    ) -> float:
        self._other.sum()
        for memory in results:
            memory[::LINE_BYTES].sum()
        for array, values in written:
            np.copyto(array, values)
        self._before.call_us()  # ONNX Runtime's own code is in the caches within a model, too.
        return session.call_us()


class _Session:
    """A model on the CPU whose inputs and outputs are bound to memory, the latter to `results`."""

    def __init__(self, model: bytes, constants: Arrays, inputs: Arrays, threads: int) -> None:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        values = [ort.OrtValue.ortvalue_from_numpy(array) for array in constants.values()]
        options.add_external_initializers(list(constants), values)
        self._session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._binding = self._session.io_binding()
        for name, array in inputs.items():
            self._binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
        for output in self._session.get_outputs():
            self._binding.bind_output(output.name)
        self._session.run_with_iobinding(self._binding)
        self.results = [np.array(value.numpy()) for value in self._binding.get_outputs()]
        for output, array in zip(self._session.get_outputs(), self.results, strict=True):
            self._binding.bind_ortvalue_output(output.name, ort.OrtValue.ortvalue_from_numpy(array))

    def call_us(self) -> float:
        started = time.perf_counter_ns()
        self._session.run_with_iobinding(self._binding)
        return (time.perf_counter_ns() - started) / 1_000


def second_cache_bytes() -> int:
    """The size of a core's second cache in bytes; 2 MiB where Linux doesn't say it."""
    if not CACHE.exists():
        return USUAL_CACHE_BYTES
    return int(CACHE.read_text(encoding="ascii").strip().removesuffix("K")) << 10


def run_suite(suite: Path, threads: int) -> dict[str, Any]:
    """Times all networks of a suite; a network that can't run has its `failure`.

    Denormal numbers count as zero: random weights give many of them, which take a CPU long.
    """
    with zipfile.ZipFile(suite) as file:
        described = json.loads(file.read("suite.json"))
        if described["format"] != FORMAT:
            raise ValueError(f"{suite} has format {described['format']}, not {FORMAT}")
        _denormals_as_zero(file.read("one.onnx"))
        timer = NetworkTimer(Nodes(file.read("one.onnx"), file.read("more.onnx")), threads)
        networks = {}
        for name, network in described["networks"].items():
            try:
                constants, inputs = _arrays(network["constants"]), _arrays(network["inputs"])
                model = file.read(f"networks/{name}.onnx")
                outcome: dict[str, Any] = {"samples_us": timer.samples_us(model, constants, inputs)}
            except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no base
                outcome = {"failure": " ".join(str(error).split())[:1000] or type(error).__name__}
            networks[name] = outcome
    return {
        "format": FORMAT,
        "cpu": _cpu_name(),
        "threads": threads,
        "onnxruntime": ort.__version__,
        "measured_at": datetime.now(UTC).isoformat(),
        "networks": networks,
    }


def _denormals_as_zero(model: bytes) -> None:
    """For all of this process: its first session decides."""
    options = ort.SessionOptions()
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _arrays(described: Mapping[str, Any]) -> Arrays:
    """Arrays with the values given, or with random ones between two numbers, half of them negative
    where the lower is.
    """
    random = np.random.default_rng(0)
    arrays = {}
    for name, array in described.items():
        shape, dtype = array["shape"], np.dtype(array["dtype"])
        if "values" in array:
            arrays[name] = np.array(array["values"], dtype).reshape(shape)
        else:
            arrays[name] = random.uniform(array["low"], array["high"], shape).astype(dtype)
    return arrays


def _cpu_name() -> str:
    if PROCESSORS.exists():
        for line in PROCESSORS.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return "unknown"


def main() -> None:
    """Writes the results of a suite as JSON."""
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: run.py SUITE RESULTS [THREADS]")
    suite, results = map(Path, sys.argv[1:3])
    report = run_suite(suite, int(sys.argv[3]) if len(sys.argv) == 4 else 1)
    results.write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main()
