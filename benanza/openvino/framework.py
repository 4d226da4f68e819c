"""OpenVINO as a framework: the whole model, compiled for the CPU."""

import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import openvino as ov

from benanza.openvino.calls import framework_calls
from benanza.openvino.compiled import PRECISIONS, Compiled, between, properties
from benanza.openvino.options import LATENCY
from benanza.openvino.reading import read
from benanza.profiling.framework import Configuration, Framework, Profile, Session
from benanza.profiling.whole_model import WholeModel, float_types
from benanza_backbone.errors import BenanzaError
from benanza_runner.cpu import available_cores, cpu_name
from benanza_runner.machine_load import machine_load
from benanza_runner.measuring.busy import as_environment, busy_between
from benanza_runner.measuring.sampling import Timing, collect
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.reasons import short_reason
from benanza_schemas import element_types
from benanza_schemas.events import FrameworkCall, RunTimes, System, identified
from benanza_schemas.layer import Precision

RULE = Rule(warm_up_us=200_000, least_us=1_000_000, cap_us=3_000_000)

FIRST_CALLS = 3
"""In these, OpenVINO lays out weights and makes kernels."""

TIMES_COMPILED = 5
"""To look into it, a model is compiled so often: OpenVINO counts from there on, in averages."""

LEAST_CALLS = 5
MOST_CALLS = 50
"""Executions of each; what is cut off of an average grows with their number."""


class OpenVinoFramework(Framework):
    """OpenVINO on the CPU, with as many threads as there are physical cores for this process, which
    is what layers are measured with, and at the precision that was asked for: by itself it runs
    models of float32 in bfloat16 where the CPU has that.
    """

    def __init__(self) -> None:
        self._threads = available_cores()
        self._core = ov.Core()

    def system(self) -> System:
        """The CPU, and the version of OpenVINO."""
        return identified(
            System(
                system_id="0" * 32,
                runtime="openvino",
                accelerator="",
                driver="",
                cuda="",
                cudnn="",
                cublas="",
                cpu=cpu_name(),
                threads=self._threads,
                libraries={"openvino": version("openvino")},
                method="",
            )
        )

    def configurations(self) -> tuple[Configuration, ...]:
        """One request at a time."""
        return (LATENCY,)

    def profile(
        self, model: WholeModel, precision: Precision, configuration: Configuration
    ) -> Profile:
        """Times the model: in the type that its file has, or one of float32 in another. Results
        aren't copied.
        """
        refusal = _refusal(model, precision)
        if refusal:
            return Profile(failure=refusal)
        before = machine_load()
        set_there = properties(configuration, precision, self._threads)
        with tempfile.TemporaryDirectory(prefix="benanza-profile-") as folder:
            try:
                found = read(self._core, model, Path(folder))
                times = self._times(Compiled(self._core, found, model.inputs, set_there))
            except Exception as error:  # noqa: BLE001  # OpenVINO's errors share no narrower base
                return Profile(failure=_reason(error))
            try:
                counted = {**set_there, "PERF_COUNT": True}
                profile = Profile(times, *self._calls(model, found, counted, times.median_us))
            except Exception as error:  # noqa: BLE001  # the time of the run is worth having
                profile = Profile(times, failure=_reason(error))
        busy = busy_between(before, machine_load())
        return profile._replace(environment=as_environment(busy, busy.by))

    def load(
        self, model: WholeModel, precision: Precision, configuration: Configuration
    ) -> Session:
        """A compiled model with one request, which reads inputs where they are."""
        refusal = _refusal(model, precision)
        if refusal:
            raise BenanzaError(refusal)
        set_there = properties(configuration, precision, self._threads)
        with tempfile.TemporaryDirectory(prefix="benanza-evaluate-") as folder:
            try:
                found = read(self._core, model, Path(folder))
                compiled = Compiled(self._core, found, model.inputs, set_there)
                compiled.run()  # After this, what it mapped of the folder has been read.
            except Exception as error:  # OpenVINO's errors share no narrower base
                raise BenanzaError(_reason(error)) from error
        return compiled.results

    def _times(self, compiled: Compiled) -> RunTimes:
        for _ in range(FIRST_CALLS):
            compiled.run()
        return _run_times(collect(lambda: Timing(_us(compiled), disturbed=False), RULE).calls_us)

    def _calls(
        self, model: WholeModel, found: ov.Model, set_there: dict[str, object], run_us: float
    ) -> tuple[RunTimes, tuple[FrameworkCall, ...]]:
        """The times of executions in which each node is timed, and the nodes: the medians of
        averages, each of one compiled model.
        """
        wanted = int(RULE.least_us / TIMES_COMPILED / run_us)
        samples, averages = [], []
        for _ in range(TIMES_COMPILED):
            compiled = Compiled(self._core, found, model.inputs, set_there)
            for _ in range(FIRST_CALLS):
                compiled.run()
            before = compiled.counts()
            samples += [_us(compiled) for _ in range(max(LEAST_CALLS, min(wanted, MOST_CALLS)))]
            averages.append(between(before, compiled.counts()))
        return _run_times(tuple(samples)), framework_calls(compiled.nodes(), model.layers, averages)


def _us(compiled: Compiled) -> float:
    started = time.perf_counter_ns()
    compiled.run()
    return (time.perf_counter_ns() - started) / 1_000


def _run_times(samples_us: tuple[float, ...]) -> RunTimes:
    times = summary(sorted(samples_us))
    return RunTimes(times.median, times.iqr, samples_us)


def _reason(error: Exception) -> str:
    """OpenVINO says first where in its own sources, then what, in several lines."""
    said = [line for line in str(error).splitlines() if line and ".cpp:" not in line]
    return short_reason(f"OpenVINO: {' '.join(said) or repr(error)}")


def _refusal(model: WholeModel, precision: Precision) -> str:
    """Why the model can't be run at this precision, empty if it can."""
    if precision not in PRECISIONS:
        return "TF32 is a mode of GPUs; a CPU has none"
    types = float_types(model)
    if types <= {"float32", element_types.PRECISIONS[precision].element_type}:
        return ""
    return f"its file has {' and '.join(sorted(types))}: name its own precision"
