"""ONNX Runtime on the CPU as a framework: a session of the whole model."""

import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import onnxruntime as ort
from onnx import ModelProto

from benanza.profiling.framework import Configuration, Framework, Profile
from benanza.profiling.joining import layers_of_nodes
from benanza.profiling.onnxruntime_options import CONFIGURATIONS, LEVEL
from benanza.profiling.whole_model import WholeModel
from benanza_runner.cpu import available_cores, cpu_name
from benanza_runner.machine_load import machine_load
from benanza_runner.measuring.busy import as_environment, busy_between
from benanza_runner.measuring.sampling import Timing, collect
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.onnx_layers.precision import ELEMENT_TYPE
from benanza_runner.onnxruntime.session import CPU, session_options
from benanza_runner.reasons import one_line
from benanza_schemas.events import FrameworkCall, RunTimes, System, identified
from benanza_schemas.layer import Precision

RULE = Rule(warm_up_us=200_000, least_us=1_000_000, cap_us=3_000_000)

WARM_UP_CALLS = 3
LEAST_CALLS = 5
MOST_CALLS = 100
MOST_NODES_TIMED = 20_000
"""ONNX Runtime writes a kilobyte for each node of each execution."""

NODE = "_kernel_time"
WEIGHTS_FILE = "weights"
EXTERNAL_FROM_BYTES = 65_536


class OnnxRuntimeFramework(Framework):
    """ONNX Runtime on the CPU, with as many threads as there are physical cores for this process,
    which is what layers are measured with.
    """

    def __init__(self) -> None:
        self._threads = available_cores()

    def system(self) -> System:
        """The CPU and the version of ONNX Runtime."""
        return identified(
            System(
                system_id="0" * 32,
                runtime="onnxruntime",
                accelerator="",
                driver="",
                cuda="",
                cudnn="",
                cublas="",
                cpu=cpu_name(),
                threads=self._threads,
                libraries={"onnxruntime": ort.__version__},
                method="",
            )
        )

    def configurations(self) -> tuple[Configuration, ...]:
        """The levels of graph optimisation."""
        return CONFIGURATIONS

    def profile(
        self, model: WholeModel, precision: Precision, configuration: Configuration
    ) -> Profile:
        """Times the model in the type that its file has."""
        refusal = _refusal(model, precision)
        if refusal:
            return Profile(failure=refusal)
        before = machine_load()
        try:
            times = self._times(model, configuration)
            looked_at, calls = self._calls(model, configuration, times.median_us)
        except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
            return Profile(failure=one_line(f"ONNX Runtime: {one_line(str(error)) or repr(error)}"))
        busy = busy_between(before, machine_load())
        return Profile(times, looked_at, calls, as_environment(busy, busy.by))

    def _options(self, model: WholeModel, configuration: Configuration) -> ort.SessionOptions:
        options = session_options(model.weights, CPU, self._threads)
        level = getattr(ort.GraphOptimizationLevel, configuration.options[LEVEL])
        options.graph_optimization_level = level
        return options

    def _times(self, model: WholeModel, configuration: Configuration) -> RunTimes:
        session = _session(model, self._options(model, configuration))

        def call() -> Timing:
            started = time.perf_counter_ns()
            session.run(None, model.inputs)
            return Timing((time.perf_counter_ns() - started) / 1_000, disturbed=False)

        return _run_times(collect(call, RULE).calls_us)

    def _calls(
        self, model: WholeModel, configuration: Configuration, run_us: float
    ) -> tuple[RunTimes, tuple[FrameworkCall, ...]]:
        """The times of executions in which each node is timed, and the nodes."""
        options = self._options(model, configuration)
        with tempfile.TemporaryDirectory(prefix="benanza-profile-") as folder:
            path = Path(folder) / "optimised.onnx"
            options.optimized_model_filepath = str(path)
            prefix = "session.optimized_model_external_initializers_"
            options.add_session_config_entry(prefix + "file_name", WEIGHTS_FILE)
            options.add_session_config_entry(prefix + "min_size_in_bytes", str(EXTERNAL_FROM_BYTES))
            options.enable_profiling = True
            options.profile_file_prefix = str(Path(folder) / "profile")
            session = _session(model, options)
            graph = ModelProto.FromString(path.read_bytes()).graph
            for _ in range(WARM_UP_CALLS + _executions(run_us, len(graph.node))):
                session.run(None, model.inputs)
            events = _events(Path(session.end_profiling()))
        positions = dict(
            zip(
                (node.name for node in graph.node),
                layers_of_nodes(model.proto.graph, graph),
                strict=True,
            )
        )
        executions = _executed(events)[WARM_UP_CALLS:]
        return _run_times([each.us for each in executions]), _joined(executions, positions)


def _refusal(model: WholeModel, precision: Precision) -> str:
    """Why the model can't be run at this precision, empty if it can."""
    if precision == "tf32":
        return "TF32 is a mode of GPUs; a CPU has none"
    arrays = (*model.weights.values(), *model.inputs.values())
    types = {str(each.dtype) for each in arrays if each.dtype.name in ELEMENT_TYPE.values()}
    if types <= {ELEMENT_TYPE[precision]}:
        return ""
    return (
        f"ONNX Runtime runs a model on the CPU in the types that its file has, "
        f"{' and '.join(sorted(types))}: export it at {precision}, or name its own precision"
    )


def _session(model: WholeModel, options: ort.SessionOptions) -> ort.InferenceSession:
    return ort.InferenceSession(model.proto.SerializeToString(), options, providers=[CPU.name])


def _executions(run_us: float, nodes: int) -> int:
    """How often the model is run while its nodes are timed: for as long as `RULE` asks for."""
    wanted = int(RULE.least_us / run_us)
    most = min(MOST_CALLS, MOST_NODES_TIMED // max(1, nodes))
    return max(LEAST_CALLS, min(wanted, most))


def _run_times(samples_us: Sequence[float]) -> RunTimes:
    found = summary(sorted(samples_us))
    return RunTimes(found.median, found.iqr, tuple(samples_us))


class _Event(NamedTuple):
    """What ONNX Runtime wrote of one thing that it timed, in microseconds since the session began.

    `op` is empty for what isn't a node.
    """

    name: str
    start_us: float
    us: float
    op: str


class _Execution(NamedTuple):
    us: float
    nodes: dict[str, _Event]


def _events(path: Path) -> list[_Event]:
    found: list[dict[str, Any]] = msgspec.json.decode(path.read_bytes())
    return [
        _Event(event["name"], event["ts"], event["dur"], event.get("args", {}).get("op_name", ""))
        for event in found
        if event.get("ph") == "X"
    ]


def _executed(events: Iterable[_Event]) -> list[_Execution]:
    """Each execution of the model with its nodes by name, whose starts count from its own."""
    runs = sorted(
        (event for event in events if event.name == "model_run"), key=lambda e: e.start_us
    )
    nodes = sorted(
        (event for event in events if event.op and event.name.endswith(NODE)),
        key=lambda event: event.start_us,
    )
    found: list[_Execution] = []
    rest = iter(nodes)
    node = next(rest, None)
    for run in runs:
        of_run: dict[str, _Event] = {}
        while node is not None and node.start_us < run.start_us + run.us:
            name = node.name.removesuffix(NODE)
            of_run[name] = node._replace(name=name, start_us=node.start_us - run.start_us)
            node = next(rest, None)
        found.append(_Execution(run.us, of_run))
    return found


def _joined(
    executions: Sequence[_Execution], positions: Mapping[str, tuple[int, ...]]
) -> tuple[FrameworkCall, ...]:
    calls = []
    for name, node in executions[0].nodes.items():
        timed = [each.nodes[name] for each in executions if name in each.nodes]
        times = summary(sorted(each.us for each in timed))
        start = summary(sorted(each.start_us for each in timed))
        calls.append(
            FrameworkCall(
                name=name,
                op=node.op,
                layers=positions.get(name, ()),
                start_us=start.median,
                median_us=times.median,
                iqr_us=times.iqr,
            )
        )
    return tuple(sorted(calls, key=lambda call: call.start_us))
