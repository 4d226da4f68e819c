"""ONNX Runtime as a framework: a session of the whole model, on an NVIDIA GPU or on the CPU."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

import onnxruntime as ort

from benanza.onnxruntime.observed import ObservedSession
from benanza.onnxruntime.options import CAPTURED, configurations
from benanza.onnxruntime.profiled import joined, profiled_session
from benanza.onnxruntime.session import (
    CUDA,
    called,
    in_type,
    options_of,
    run_on_host,
    taking_turns,
)
from benanza.profiling.framework import Configuration, Framework, Observed, Profile, Session
from benanza.profiling.spans import Activity
from benanza.profiling.whole_model import WholeModel, float_types
from benanza_backbone.errors import BenanzaError
from benanza_runner import nvidia
from benanza_runner.cpu import available_cores, cpu_name
from benanza_runner.machine_load import machine_load
from benanza_runner.measuring.busy import as_environment, busy_between
from benanza_runner.measuring.sampling import Timing, collect
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.reasons import short_reason
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import FrameworkCall, RunTimes, System, identified
from benanza_schemas.layer import Precision

RULE = Rule(warm_up_us=200_000, least_us=1_000_000, cap_us=3_000_000)

FIRST_CALLS = 3
"""In these, ONNX Runtime searches for algorithms and captures graphs."""

LEAST_CALLS = 5
MOST_CALLS = 100
MOST_NODES_TIMED = 20_000
"""ONNX Runtime writes a kilobyte for each node of each execution."""


class OnnxRuntimeFramework(Framework):
    """ONNX Runtime on the GPU, if `onnxruntime-gpu` is installed and there is one; else on the CPU,
    with as many threads as there are physical cores for this process, which is what layers are
    measured with.
    """

    def __init__(self) -> None:
        self._threads = available_cores()
        self._on_gpu = CUDA in ort.get_available_providers() and bool(nvidia.gpu().name)
        self._recorded: Callable[[], AbstractContextManager[list[Activity]]] = _nothing
        if self._on_gpu:
            from benanza.profiling import gpu_activities  # a CPU needs no CUPTI

            self._recorded = gpu_activities.recorded
            ort.preload_dlls()

    def system(self) -> System:
        """The device, and the versions of ONNX Runtime and of what it loads."""
        gpu = nvidia.gpu() if self._on_gpu else nvidia.NO_GPU
        return identified(
            System(
                system_id="0" * 32,
                runtime="onnxruntime",
                accelerator=gpu.name,
                driver=gpu.driver,
                cuda=gpu.cuda,
                cudnn=gpu.cudnn,
                cublas=gpu.cublas,
                cpu=cpu_name(),
                threads=self._threads,
                libraries={"onnxruntime": ort.__version__},
                method="",
            )
        )

    def configurations(self) -> tuple[Configuration, ...]:
        """As for `benanza.onnxruntime.options`."""
        return configurations(on_gpu=self._on_gpu)

    def profile(
        self, model: WholeModel, precision: Precision, configuration: Configuration
    ) -> Profile:
        """Times the model: on the CPU in the type that its file has, on a GPU also with float16 in
        place of float32. What is captured as a CUDA graph has no calls.
        """
        refusal = self._refused(model, precision)
        if refusal:
            return Profile(failure=refusal)
        before = machine_load()
        try:
            typed = in_type(model, precision) if self._on_gpu else model
            times = self._times(typed, precision, configuration)
        except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
            return Profile(failure=_reason(error))
        profile = Profile(times)
        if not CAPTURED.items() <= configuration.options.items():
            try:
                calls = self._calls(model, typed, precision, configuration, times.median_us)
                profile = Profile(times, *calls)
            except Exception as error:  # noqa: BLE001  # the time of the run is worth having
                profile = Profile(times, failure=_reason(error))
        busy = busy_between(before, machine_load())
        return profile._replace(environment=as_environment(busy, busy.by))

    def load(
        self, model: WholeModel, precision: Precision, configuration: Configuration
    ) -> Session:
        """A session whose inputs and outputs are in the memory of the host, whatever the
        configuration binds. On a GPU, inputs of float32 are made float16 where the model is. What
        is captured takes no other inputs, and isn't loaded.
        """
        refusal = self._refused(model, precision)
        if CAPTURED.items() <= configuration.options.items():
            refusal = "a CUDA graph has inputs of its own: take 'bound to the GPU'"
        if refusal:
            raise BenanzaError(refusal)
        try:
            typed = in_type(model, precision) if self._on_gpu else model
            options = taking_turns(options_of(typed, configuration, self._threads))
            session = called(typed, configuration, precision, options, on_gpu=self._on_gpu).session
            session.run(None, typed.inputs)  # what has no kernel fails here
        except Exception as error:  # ONNX Runtime's errors share no narrower base
            raise BenanzaError(_reason(error)) from error
        return run_on_host(session, typed)

    @contextmanager
    def observe(
        self, model: WholeModel, precision: Precision, configuration: Configuration, *, gpu: bool
    ) -> Iterator[Observed]:
        """As `load`, with ONNX Runtime's profiler, and with `gpu` CUPTI. Without it, the calls of a
        GPU take as long as the host needs to start them.
        """
        refusal = self._refused(model, precision)
        if refusal:
            raise BenanzaError(refusal)
        with ExitStack() as opened:
            try:
                typed = in_type(model, precision) if self._on_gpu else model
                options = taking_turns(options_of(typed, configuration, self._threads))
                profiled = opened.enter_context(
                    profiled_session(typed, configuration, precision, options, on_gpu=self._on_gpu)
                )
                recording = opened.enter_context(ExitStack())
                observed = ObservedSession(profiled, typed, model.layers, recording)
                observed.first(FIRST_CALLS)
            except Exception as error:  # ONNX Runtime's errors share no narrower base
                raise BenanzaError(_reason(error)) from error
            if gpu and self._on_gpu:
                observed.record(self._recorded())
            yield observed

    def _refused(self, model: WholeModel, precision: Precision) -> str:
        return _gpu_refusal(model, precision) if self._on_gpu else _refusal(model, precision)

    def _times(
        self, model: WholeModel, precision: Precision, configuration: Configuration
    ) -> RunTimes:
        options = options_of(model, configuration, self._threads)
        session = called(model, configuration, precision, options, on_gpu=self._on_gpu)

        def call() -> Timing:
            started = time.perf_counter_ns()
            session.run()
            return Timing((time.perf_counter_ns() - started) / 1_000, disturbed=False)

        for _ in range(FIRST_CALLS):
            session.run()
        return _run_times(collect(call, RULE).calls_us)

    def _calls(
        self,
        model: WholeModel,
        typed: WholeModel,
        precision: Precision,
        configuration: Configuration,
        run_us: float,
    ) -> tuple[RunTimes, tuple[FrameworkCall, ...]]:
        """The times of executions in which each node is timed, and the nodes."""
        samples = []
        options = options_of(typed, configuration, self._threads)
        with profiled_session(
            typed, configuration, precision, options, on_gpu=self._on_gpu
        ) as profiled:
            for _ in range(FIRST_CALLS):
                profiled.called.run()
            with self._recorded() as activities:
                for _ in range(_executions(run_us, len(profiled.graph.node))):
                    started = time.perf_counter_ns()
                    profiled.called.run()
                    samples.append((time.perf_counter_ns() - started) / 1_000)
            traced = profiled.ended(model.layers, FIRST_CALLS, activities if self._on_gpu else None)
        return _run_times(samples), joined(traced)


def _reason(error: Exception) -> str:
    said = f"ONNX Runtime: {short_reason(str(error)) or repr(error)}"
    mixed = nvidia.mixed_cudnn() if "cudnn" in said.lower() else ""
    return short_reason(f"{mixed}; {said}" if mixed else said)


def _nothing() -> AbstractContextManager[list[Activity]]:
    """On the CPU there is no GPU whose activities could be recorded."""
    return nullcontext([])


def _gpu_refusal(model: WholeModel, precision: Precision) -> str:
    """Why the model can't be run at this precision on a GPU, empty if it can."""
    if precision == "bf16":
        return "ONNX Runtime has no kernels in bfloat16 for most operators; say: --precision fp16"
    types = float_types(model)
    if types <= {"float32"} or (precision == "fp16" and types <= {"float16", "float32"}):
        return ""
    listed = " and ".join(sorted(types))
    if "bfloat16" in types:
        return f"its file has {listed}: ONNX Runtime is run with float16 and float32 here"
    return f"its file has {listed}; say: --precision fp16"


def _refusal(model: WholeModel, precision: Precision) -> str:
    """Why the model can't be run at this precision on the CPU, empty if it can."""
    if precision == "tf32":
        return "TF32 is a mode of GPUs; a CPU has none"
    types = float_types(model)
    if types <= {PRECISIONS[precision].element_type}:
        return ""
    return (
        f"ONNX Runtime runs a model on the CPU in the types that its file has, "
        f"{' and '.join(sorted(types))}: export it at {precision}, or name its own precision"
    )


def _executions(run_us: float, nodes: int) -> int:
    """How often the model is run while its nodes are timed: for as long as `RULE` asks for."""
    wanted = int(RULE.least_us / run_us)
    most = min(MOST_CALLS, MOST_NODES_TIMED // max(1, nodes))
    return max(LEAST_CALLS, min(wanted, most))


def _run_times(samples_us: Sequence[float]) -> RunTimes:
    times = summary(sorted(samples_us))
    return RunTimes(times.median, times.iqr, tuple(samples_us))
