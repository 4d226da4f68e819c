"""Layers timed on an NVIDIA GPU."""

import time
from pathlib import Path
from typing import Any

import cupy
import msgspec

from benanza_runner import nvidia
from benanza_runner.arrays import Array
from benanza_runner.ceilings import measured_ceilings
from benanza_runner.cpu import available_cores, cpu_name
from benanza_runner.cuda.all_candidate_sources import all_candidate_sources
from benanza_runner.cuda.calls import AllGather, AllReduce, Call
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.candidate_source import CandidateSource
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.kernels.layout_conversion import layout_conversion
from benanza_runner.cuda.libraries.cudnn_graph import CudnnGraph
from benanza_runner.cuda.libraries.cudnn_legacy.library import CudnnLibrary
from benanza_runner.cuda.libraries.nccl import nccl_version
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.nvml import Nvml
from benanza_runner.cuda.reference import reference
from benanza_runner.cuda.search.autotuner import Autotuner
from benanza_runner.cuda.search.guard import Guard
from benanza_runner.cuda.search.layout_conversions import LayoutConversions
from benanza_runner.cuda.timing.graph_timer import GraphTimer
from benanza_runner.cuda.timing.interleaved import CudaInterleavedTimer
from benanza_runner.cuda.timing.launch_overhead import launch_overhead
from benanza_runner.cuda.timing.peers import all_devices_of
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.versions import versions
from benanza_runner.cuda.whole_model.model_reference import ModelReference, model_reference
from benanza_runner.cuda.whole_model.prefetch import prefetched_runs
from benanza_runner.cuda.whole_model.witness import PreparedProgram
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.device_lock import DeviceLock, lock_path
from benanza_runner.measuring.batch import calls_for
from benanza_runner.measuring.busy import doubts_as_environment
from benanza_runner.measuring.sampling import collect
from benanza_runner.measuring.slowdown import SlowdownDetector
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.onnx_layers.collectives import is_collective
from benanza_runner.onnx_layers.layer_model import LayerModelError
from benanza_runner.onnx_layers.onnx_schemas import UnknownVersionError
from benanza_runner.onnx_layers.precision import PrecisionError, retyped
from benanza_runner.reasons import short_reason
from benanza_runner.runtime import Outcome, RunResult, Runtime
from benanza_runner.variants import warm
from benanza_schemas.events import Ceiling, RunTimes, System, identified
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.program import Program
from benanza_schemas.times import time_us

METHOD = "CUDA graph replay, warm; 4"
"""How layers are timed. Raise the number by one when times change without the system changing."""

MOST_PLANS = 24
"""Plans of a convolution in a layout. Among the first 16, one layer in 23 lacked its best."""

MOST_ALGORITHMS = 16
VARIANT_SECONDS = 30
"""A variant that takes longer hangs."""

REST_S = 1.0
"""How many seconds a GPU is left idle after something slowed it down."""

WITNESS_US = 2_000.0
WITNESS_CALLS = 20
"""A replay holds a whole model so often that it takes 2 ms, at most 20 times."""

REFUSALS = (UnsupportedError, LayerModelError, UnknownVersionError, PrecisionError)


class CudaRuntime(Runtime):
    """cuDNN, cuBLASLt and generated kernels on CUDA's first GPU.

    `plans` and `algorithms` limit how many ways of one call cuDNN and cuBLASLt are asked for.
    Layers that are lowered to the same call with the same operands fixed share its times, if the
    best variant gives a right result for each.
    `journal` is the file in which `Guard` remembers variants. A variant that takes longer than
    `variant_seconds` ends the process. Without `interleaved`, variants are timed alone: not after
    other kernels, nor with cold weights. Processes that time layers on the same GPU take turns.
    """

    def __init__(
        self,
        plans: int = MOST_PLANS,
        algorithms: int = MOST_ALGORITHMS,
        journal: str = "",
        variant_seconds: int = VARIANT_SECONDS,
        interleaved: bool = True,
    ) -> None:
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._stream.use()
        self._nvml = Nvml()
        self._device = DeviceLock(lock_path(self._nvml.uuid))
        self._threads = available_cores()
        self._legacy = CudnnLibrary(self._stream.ptr)
        self._graph = CudnnGraph(self._stream.ptr, plans)
        self._libraries = all_candidate_sources(self._graph, self._legacy, algorithms)
        self._guard = Guard(
            Path(journal) if journal else None,
            variant_seconds,
            cupy.cuda.runtime.deviceSynchronize,
            self._device,
        )
        self._memory = DeviceMemory(cupy)
        self._timer = GraphTimer(self._stream)
        with self._device:
            self._interleaved_timer = CudaInterleavedTimer(self._timer)
            self._slowdown = SlowdownDetector(launch_overhead(self._timer))
        interleaved_timer = self._interleaved_timer if interleaved else None
        conversions = LayoutConversions(self._timer, layout_conversion, interleaved_timer)
        self._autotuner = Autotuner(
            self.candidate_sources(), self._timer, self._guard, conversions, interleaved_timer
        )
        self._known: dict[tuple[Call, frozenset[str], Precision], Outcome] = {}

    def candidate_sources(self) -> tuple[CandidateSource, ...]:
        """What offers candidates, in the order in which they are asked."""
        return self._libraries

    def system(self) -> System:
        """The GPU, its driver and libraries, and the method."""
        gpu = nvidia.gpu()
        library_versions = versions()
        return identified(
            System(
                system_id="0" * 32,
                runtime="cuda",
                accelerator=gpu.name,
                driver=gpu.driver,
                cuda=library_versions.cuda,
                cudnn=library_versions.cudnn,
                cublas=library_versions.cublas,
                cpu=cpu_name(),
                threads=1,
                libraries=library_versions.packages,
                method=METHOD,
            )
        )

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        """All variants that the libraries offer, with times or failures.

        Ends the process with `SystemExit` after an error after which the device is unusable.
        """
        if layer.execution == "network":
            return Outcome(failure="networks are timed by ONNX Runtime on CPUs only")
        self._use(self._stream)
        try:
            return self._measured(layer, precision)
        except REFUSALS as error:
            return Outcome(failure=str(error))
        except Exception as error:  # noqa: BLE001  # ONNX Runtime's and CUDA's share no base
            self._guard.end_if_lasting(error)
            return Outcome(failure=short_reason(f"{type(error).__name__}: {error}"))
        finally:
            cupy.get_default_memory_pool().free_all_blocks()

    def _measured(self, layer: Layer, precision: Precision) -> Outcome:
        started, held_s = time.perf_counter(), self._device.held_s
        layer = retyped(layer, "fp32")
        given = reference(layer, precision, self._threads)
        lowered = lower(layer, given.values)
        with all_devices_of(lowered.call, self._device):
            workspace = Workspace(lowered, precision, self._memory)
            ready = time.perf_counter()
            name = f"{fingerprint(layer)} {precision}"
            alike = lowered.call, lowered.weights, precision
            outcome = self._shared(self._known.get(alike), workspace, given.outputs, name)
            if outcome is None:
                outcome = self._searched(workspace, given.outputs, name)
                if warm(outcome.variants):  # What failed may succeed the next time.
                    self._known[alike] = outcome
        seconds = {
            "reference_seconds": f"{ready - started:.3f}",
            "search_seconds": f"{time.perf_counter() - ready:.3f}",
            "device_seconds": f"{self._device.held_s - held_s:.3f}",
        }
        return msgspec.structs.replace(outcome, environment=outcome.environment | seconds)

    def _searched(self, workspace: Workspace, expected: list[Array], name: str) -> Outcome:
        slow_before = self.slowed()
        variants, undisturbed = self._autotuner.undisturbed(
            workspace, expected, name, self._nvml, lambda: time.sleep(REST_S)
        )
        if not variants:
            raise UnsupportedError(f"no library here runs a {type(workspace.call).__name__}")
        slowed = self.slowed() or slow_before
        state = self._nvml.state()
        environment = {
            "gpu": self._nvml.uuid,
            "sm_mhz": str(state.sm_mhz),
            "memory_mhz": str(state.memory_mhz),
            "watts": f"{state.watts:.0f}",
            "celsius": str(state.celsius),
            **doubts_as_environment(undisturbed.reasons, stable=undisturbed.stable),
            "tries": str(undisturbed.tries),
            "step_us": f"{self._slowdown.last_us:.3f}",
        }
        if isinstance(workspace.call, (AllReduce, AllGather)):
            environment["nccl"] = nccl_version()
        return Outcome(tuple(variants), environment=environment, slowed=slowed)

    def _shared(
        self, known: Outcome | None, workspace: Workspace, expected: list[Array], name: str
    ) -> Outcome | None:
        """The times of the same call for another layer, if its best variant is right here too."""
        if known is None:
            return None
        best = min(warm(known.variants), key=time_us)
        if self._autotuner.wrong_again(workspace, expected, name, best):
            return None
        environment = known.environment | {"times": "shared"}
        return msgspec.structs.replace(known, environment=environment)

    def ceilings(self, precision: Precision) -> tuple[Ceiling, ...]:
        """The highest rates that the microbenchmarks reach, in one round.

        Nobody else is at work on the GPU, and later rounds would share the first one's times.
        """
        return measured_ceilings(self, precision, rounds=1)

    def cache_bytes(self) -> int:
        """The size of the L2, in bytes."""
        return self._interleaved_timer.cache_bytes

    def slowed(self) -> bool:
        """Whether the launch overhead is longer now than when this process started."""
        with self._device:
            return self._slowdown.check()

    def witness(self, program: Program, precision: Precision) -> RunResult:
        """The model's times: calls in order, with prefetching, and in parallel.

        Of the ways of prefetching, the fastest counts. The results of each way are compared with a
        reference, which is computed before the device is taken. A model that is split over GPUs
        isn't run.
        """
        if any(is_collective(step.layer) for step in program.steps):
            return RunResult(failure="it is split over GPUs, and whole models run on one")
        expected = self._expected(program, precision)
        with self._device:
            return self._witnessed(program, precision, expected)

    def _expected(self, program: Program, precision: Precision) -> ModelReference | str:
        """What the model should compute, or why that isn't known."""
        try:
            return model_reference(program, precision, self._threads)
        except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no base
            return short_reason(f"{type(error).__name__}: {error}")

    def _witnessed(
        self, program: Program, precision: Precision, expected: ModelReference | str
    ) -> RunResult:
        errors: list[float] = []

        def compare(ran: PreparedProgram) -> None:
            if isinstance(expected, ModelReference):
                errors.append(expected.error(ran.results(expected.outputs)))

        try:
            in_order = self.prepared(program, precision, parallel=False)
            sequential = self.timed(in_order.run)
            compare(in_order)
            prefetched = []
            for prefetched_run in prefetched_runs(in_order):
                with prefetched_run.persisting() as run:
                    prefetched.append(self.timed(run))
                compare(in_order)
            slowed = self.slowed()
            in_parallel = self.prepared(program, precision, parallel=True)
            parallel = self.timed(in_parallel.run)
            compare(in_parallel)
            return RunResult(
                sequential=sequential,
                read_ahead=min(prefetched, key=lambda times: times.median_us, default=None),
                parallel=parallel,
                calls=sum(len(call.runs) for call in in_order.calls),
                layout_changes=in_order.layout_conversions,
                error=max(errors, default=None),
                allowed_error=None if isinstance(expected, str) else expected.allowed,
                unchecked=expected if isinstance(expected, str) else "",
                slowed=slowed,
            )
        except REFUSALS as error:
            return RunResult(failure=str(error))
        except Exception as error:  # noqa: BLE001  # CUDA's libraries' errors share no base
            self._guard.end_if_lasting(error)
            return RunResult(failure=short_reason(f"{type(error).__name__}: {error}"))
        finally:
            cupy.get_default_memory_pool().free_all_blocks()

    def prepared(
        self, program: Program, precision: Precision, *, parallel: bool
    ) -> PreparedProgram:
        """The program ready to run. Raises what `PreparedProgram` does."""
        self._use(self._stream)
        return PreparedProgram(
            self.candidate_sources(), self._use, self._stream, program, precision, parallel=parallel
        )

    def _use(self, stream: Any) -> None:
        """Makes all libraries start what follows on this stream.

        A thread has one current stream, which another runtime may have changed.
        """
        stream.use()
        self._graph.use(stream.ptr)
        self._legacy.use(stream.ptr)

    def timed(self, run: Run) -> RunTimes:
        """The time of a whole model, as replays of a graph that holds it a few times.

        `run` starts the model's calls. It only ever runs as a graph: some of cuDNN's algorithms
        make the process slow when they are run outside of one.
        """
        once = self._timer.replayed(run, 1)
        once_us = min(once.call_us() for _ in range(2))
        batch = self._timer.replayed(run, calls_for(once_us, WITNESS_US, WITNESS_CALLS))
        samples = collect(batch.run, Rule())
        times = tuple(us / batch.calls for us in samples.calls_us)
        statistics = summary(sorted(times))
        return RunTimes(statistics.median, statistics.iqr, times)
