"""PyTorch as a framework: models that it knows by name, eager, compiled, and as CUDA graphs."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from benanza.profiling.framework import Configuration, Framework, Observed, Profile, Session
from benanza.profiling.whole_model import WholeModel
from benanza.pytorch.calls import framework_calls
from benanza.pytorch.export import program
from benanza.pytorch.from_onnx import NoCounterpartError, from_onnx
from benanza.pytorch.looking import looked_at
from benanza.pytorch.metadata import MODEL
from benanza.pytorch.models import case
from benanza.pytorch.names import PACKAGES
from benanza.pytorch.observed import ObservedGraph
from benanza.pytorch.options import CAPTURED, COMPILED, LAYOUT, NHWC, configurations
from benanza.pytorch.prepared import (
    DTYPES,
    MAPS_NDIM,
    CapturedCall,
    Prepared,
    TorchConfiguration,
    captured,
    first_calls,
    page_locked,
    set_precision,
)
from benanza_backbone.errors import BenanzaError
from benanza_runner import nvidia
from benanza_runner.arrays import Array
from benanza_runner.cpu import available_cores, cpu_name
from benanza_runner.machine_load import machine_load
from benanza_runner.measuring.busy import as_environment, busy_between
from benanza_runner.measuring.sampling import Timing, collect
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.reasons import short_reason
from benanza_schemas.events import FrameworkCall, RunTimes, System, identified
from benanza_schemas.layer import Precision

RULE = Rule(warm_up_us=200_000, least_us=1_000_000, cap_us=3_000_000)

LEAST_EXECUTIONS = 5
MOST_EXECUTIONS = 50
MOST_NODES_TIMED = 20_000
"""The profiler writes a few kilobytes for each node of each execution on a GPU."""


class PyTorchFramework(Framework):
    """PyTorch on the GPU if there is one, else on the CPU with as many threads as there are
    physical cores for this process, which is what layers are measured with.
    """

    def __init__(self) -> None:
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._threads = available_cores()
        torch.set_num_threads(self._threads)

    def system(self) -> System:
        """The device, and the versions of PyTorch and of what it brings."""
        gpu = nvidia.gpu() if self._device == "cuda" else nvidia.NO_GPU
        return identified(
            System(
                system_id="0" * 32,
                runtime="pytorch",
                accelerator=gpu.name,
                driver=gpu.driver,
                cuda=(torch.version.cuda or "") if gpu.name else "",
                cudnn=_cudnn_version() if gpu.name else "",
                cublas="",
                cpu=cpu_name(),
                threads=self._threads,
                libraries={"pytorch": str(torch.__version__), **_versions()},
                method="",
            )
        )

    def configurations(self) -> tuple[Configuration, ...]:
        """Eager and compiled, each in both layouts of feature maps; on a GPU also captured."""
        return configurations(on_gpu=self._device == "cuda")

    def matters(self, model: WholeModel, configuration: Configuration) -> bool:
        """There is a layout to choose only for feature maps."""
        maps = any(array.ndim == MAPS_NDIM for array in model.inputs.values())
        return maps or configuration.options[LAYOUT] != NHWC

    def profile(
        self, model: WholeModel, precision: Precision, configuration: Configuration
    ) -> Profile:
        """Times the PyTorch model that the file was exported of, with its inputs at this batch
        size. Calls are those of eager configurations: the nodes of the FX graph of which the file
        was made are run one by one.

        A file from elsewhere is translated, if it has but few operators, and has no calls.
        """
        refusal = self._refusal(model, precision)
        if refusal:
            return Profile(failure=refusal)
        before = machine_load()
        try:
            set_precision(precision)
            torch._dynamo.reset()
            prepared = self._prepared(model, precision, configuration)
            times = self._times(prepared, configuration)
        except NoCounterpartError as error:
            return Profile(failure=_not_translated(error))
        except Exception as error:  # noqa: BLE001  # PyTorch's errors share no narrower base
            return Profile(failure=_reason(error))
        profile = Profile(times)
        if _is_eager(configuration) and MODEL in model.metadata:
            try:
                profile = Profile(times, *_calls(model, prepared, times.median_us))
            except Exception as error:  # noqa: BLE001  # the time of the run is worth having
                profile = Profile(times, failure=_reason(error))
        busy = busy_between(before, machine_load())
        return profile._replace(environment=as_environment(busy, busy.by))

    def load(
        self, model: WholeModel, precision: Precision, configuration: Configuration
    ) -> Session:
        """The PyTorch model that the file was exported of, with weights of its own, or the file's
        own operators and weights. Inputs come from the host, and results go there; those of what is
        captured pass through page-locked memory.
        """
        refusal = self._refusal(model, precision)
        if refusal:
            raise BenanzaError(refusal)
        names = list(model.inputs)
        try:
            set_precision(precision)
            prepared = self._prepared(model, precision, configuration)
            inputs = [model.inputs[name] for name in names]
            answer = prepared.results
            if CAPTURED.items() <= configuration.options.items():
                answer = CapturedCall(prepared, inputs).results
            answer(inputs)
        except NoCounterpartError as error:
            raise BenanzaError(_not_translated(error)) from error
        except Exception as error:  # PyTorch's errors share no narrower base
            raise BenanzaError(_reason(error)) from error
        return lambda inputs: answer([inputs[name] for name in names])

    def memory_like(self, array: Array) -> Array:
        """Page-locked on a GPU."""
        memory: Array = page_locked(torch.from_numpy(array)).numpy()
        return memory

    @contextmanager
    def observe(
        self, model: WholeModel, precision: Precision, configuration: Configuration, *, gpu: bool
    ) -> Iterator[Observed]:
        """The nodes of the FX graph of which the file was made, one by one, by Kineto."""
        refusal = self._refusal(model, precision)
        if not _is_eager(configuration) or MODEL not in model.metadata:
            refusal = "only eager models of files that `benanza export` wrote have calls in PyTorch"
        if refusal:
            raise BenanzaError(refusal)
        with ExitStack() as opened:
            try:
                set_precision(precision)
                prepared = self._prepared(model, precision, configuration)
                observed = ObservedGraph(
                    model,
                    prepared,
                    _graph(prepared),
                    opened.enter_context(ExitStack()),
                    gpu=gpu and self._device == "cuda",
                )
            except Exception as error:  # PyTorch's errors share no narrower base
                raise BenanzaError(_reason(error)) from error
            yield observed

    def _refusal(self, model: WholeModel, precision: Precision) -> str:
        """Why the model can't be run so, empty if it can."""
        if self._device == "cpu" and precision != "fp32":
            return f"PyTorch runs models at {precision} on a GPU only; say: --precision fp32"
        return ""

    def _prepared(
        self, model: WholeModel, precision: Precision, configuration: Configuration
    ) -> Prepared:
        batch = next(iter(model.inputs.values())).shape[0]
        if MODEL in model.metadata:
            module, inputs = _case(model.metadata[MODEL], batch)
        else:
            module, inputs = from_onnx(model)
        way = TorchConfiguration(
            nhwc=configuration.options[LAYOUT] == NHWC,
            compiled=COMPILED.items() <= configuration.options.items(),
        )
        return Prepared(way, module, inputs, self._device, DTYPES[precision])

    def _times(self, prepared: Prepared, configuration: Configuration) -> RunTimes:
        first_calls(prepared.run, self._device)
        run = prepared.run
        if CAPTURED.items() <= configuration.options.items():
            graph, _ = captured(prepared.run, 1)
            run = graph.replay
        samples_us = collect(self._timed(run), RULE).calls_us
        times = summary(sorted(samples_us))
        return RunTimes(times.median, times.iqr, samples_us)

    def _timed(self, run: Callable[[], Any]) -> Callable[[], Timing]:
        """A run from its start until the device has its result."""
        on_gpu = self._device == "cuda"

        def call() -> Timing:
            started = time.perf_counter_ns()
            run()
            if on_gpu:
                torch.cuda.synchronize()
            return Timing((time.perf_counter_ns() - started) / 1_000, disturbed=False)

        return call


def _not_translated(error: NoCounterpartError) -> str:
    return (
        "it was not exported by `benanza export`, and not all of it is translated: "
        f"{error}; say: benanza export NAME -o FILE"
    )


def _reason(error: Exception) -> str:
    return short_reason(f"PyTorch: {type(error).__name__}: {error}")


@lru_cache(maxsize=1)
def _case(name: str, batch: int) -> tuple[Any, tuple[Any, ...]]:
    """A model with its inputs on the CPU, kept for the next configuration."""
    return case(name, batch)


def _is_eager(configuration: Configuration) -> bool:
    return configuration.options.keys() <= {LAYOUT}


def _calls(
    model: WholeModel, prepared: Prepared, run_us: float
) -> tuple[RunTimes, tuple[FrameworkCall, ...]]:
    """The times of executions in which each node is timed, and the nodes."""
    module = _graph(prepared)
    wanted = int(RULE.least_us / run_us)
    most = min(MOST_EXECUTIONS, MOST_NODES_TIMED // max(1, len(module.graph.nodes)))
    executions = max(LEAST_EXECUTIONS, min(wanted, most))
    looked = looked_at(module, prepared.inputs, executions)
    return looked.times, framework_calls(looked.nodes, model.layers, model.origins)


def _graph(prepared: Prepared) -> Any:
    """The graph of the model as it is prepared, since in another layout or precision a model has
    other copies. All other nodes have the names that they have in the file's graph.
    """
    return program(prepared.model, prepared.inputs).exported_program.module(check_guards=False)


def _cudnn_version() -> str:
    """cuDNN 9 writes 9.19.0 as 91900."""
    number = torch.backends.cudnn.version() or 0
    return f"{number // 10_000}.{number % 10_000 // 100}.{number % 100}"


def _versions() -> Mapping[str, str]:
    versions = {}
    for package in ("torch", *PACKAGES):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
