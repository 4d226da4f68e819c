"""The ways in which whole models are run, each ready to be called again and again in a process of
its own: threads of one framework that wait for work would disturb another.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benanza.profiling.whole_model import WholeModel, whole_model
from benanza_ingest.errors import ModelError
from benanza_runner.cpu import available_cores
from benanza_runner.measuring.sampling import Timing, collect
from benanza_runner.measuring.stopping import Rule
from benanza_runner.reasons import short_reason

RULE = Rule(warm_up_us=100_000, least_us=500_000, few_samples=5, cap_us=1_000_000)
"""Of one turn."""

FIRST_CALLS = 3


class Way(NamedTuple):
    """A framework, in words, with what is set in it."""

    framework: str
    nhwc: bool = False

    def title(self) -> str:
        """For people."""
        return self.framework + ", channels last" * self.nhwc


ONNX_RUNTIME, OPENVINO, PYTORCH = "ONNX Runtime", "OpenVINO", "PyTorch, compiled"
WAYS = (Way(ONNX_RUNTIME), Way(OPENVINO), Way(PYTORCH), Way(PYTORCH, nhwc=True))
"""With default options, with the hint for latency, and compiled in both layouts; all in the type of
the file and with as many threads as layers are measured with.
"""

_ready: list[Callable[[], Any]] = []
"""The model that this process runs."""


def load(way: Way, content: bytes, batch: int | None) -> str:
    """Gets a model ready in this process, in the place of the one before: that it can't be run
    is what is returned, in a line.
    """
    _ready.clear()
    try:
        model = whole_model(content, batch)
        run = _RUNS[way.framework](model, way.nhwc)
        for _ in range(FIRST_CALLS):
            run()
    except ModelError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  # the errors of frameworks share no narrower base
        first_line = str(error).partition("\n")[0]  # behind it are commands and folders
        return short_reason(f"{type(error).__name__}: {first_line}")
    _ready.append(run)
    return ""


def turn() -> Sequence[float]:
    """Times of calls of the model that is ready, in microseconds."""
    (run,) = _ready

    def call() -> Timing:
        started = time.perf_counter_ns()
        run()
        return Timing((time.perf_counter_ns() - started) / 1_000, disturbed=False)

    return collect(call, RULE).calls_us


def _onnx_runtime(model: WholeModel, nhwc: bool) -> Callable[[], Any]:
    from benanza.onnxruntime.options import ON_CPU
    from benanza.onnxruntime.session import called, options_of

    options = options_of(model, ON_CPU[0], available_cores())
    return called(model, ON_CPU[0], "fp32", options, on_gpu=False).run


def _openvino(model: WholeModel, nhwc: bool) -> Callable[[], Any]:
    import openvino as ov

    from benanza.openvino.compiled import Compiled, properties
    from benanza.openvino.options import LATENCY
    from benanza.openvino.reading import read

    core = ov.Core()
    with tempfile.TemporaryDirectory(prefix="benanza-profile-") as folder:
        found = read(core, model, Path(folder))
        set_there = properties(LATENCY, "fp32", available_cores())
        return Compiled(core, found, model.inputs, set_there).run


def _pytorch(model: WholeModel, nhwc: bool) -> Callable[[], Any]:
    import torch

    from benanza.pytorch.from_onnx import from_onnx
    from benanza.pytorch.metadata import MODEL
    from benanza.pytorch.models import case
    from benanza.pytorch.prepared import Prepared, TorchConfiguration

    torch.set_num_threads(available_cores())
    torch._dynamo.reset()
    if MODEL in model.metadata:
        batch = next(iter(model.inputs.values())).shape[0]
        module, inputs = case(model.metadata[MODEL], batch)
    else:
        module, inputs = from_onnx(model)
    way = TorchConfiguration(nhwc=nhwc, compiled=True)
    return Prepared(way, module, inputs, "cpu", torch.float32).run


_RUNS: dict[str, Callable[[WholeModel, bool], Callable[[], Any]]] = {
    ONNX_RUNTIME: _onnx_runtime,
    OPENVINO: _openvino,
    PYTORCH: _pytorch,
}
