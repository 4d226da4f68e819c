"""Layers timed with ONNX Runtime: what it takes is what it takes inside a model.

The times that are compared are taken in turns, and the least or the median of each counts, since
another program may hold the processor during any of them.
"""

import json
import os
import re
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import numpy as np
import onnxruntime as ort
import pytest

from benanza_runner.core import Runner
from benanza_runner.measuring.busy import OTHERS, Load
from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnx_layers.layer_model import LayerModel, layer_model
from benanza_runner.onnxruntime import block_conversions, forms
from benanza_runner.onnxruntime.block_conversions import Direction
from benanza_runner.onnxruntime.blocked import DOMAIN, Shape
from benanza_runner.onnxruntime.copies_timer import CopiesTimer, TimedCopies
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_runner.onnxruntime.session import CPU, Provider, Session, session_options
from benanza_runner.runtime import Runtime
from benanza_runner.variants import warm
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import SystemMeasured, Variant, event_id, identified
from benanza_schemas.layer import Execution, Layer, Precision, Tensor
from benanza_schemas.times import time_us
from benanza_schemas.vocabulary import StoppedBy
from tests.runner.layers import conv, conv_group, floats, gemm, operator, relu, single, weights
from tests.runner.onnxruntime.needs_blocks import needs_blocks
from tests.runner.runtime_contract import RuntimeContract, job

ROUNDS = 5
MAP, ODD_MAP = floats(1, 32, 14, 14), floats(1, 255, 14, 14)


@pytest.fixture(scope="module")
def runtime() -> OnnxRuntime:
    return OnnxRuntime(threads=1, libraries=())


class TestOnnxRuntime(RuntimeContract):
    @pytest.fixture
    def runtime(self) -> Runtime:
        return OnnxRuntime(threads=1, libraries=())


def variants(runtime: OnnxRuntime, layer: Layer, precision: Precision) -> tuple[Variant, ...]:
    outcome = runtime.measure(layer, precision)
    assert outcome.failure == ""
    return outcome.variants


def measured(runtime: OnnxRuntime, layer: Layer) -> Variant:
    """The fastest variant."""
    return min(warm(variants(runtime, layer, "fp32")), key=time_us)


def failed(runtime: OnnxRuntime, layer: Layer, precision: Precision = "fp32") -> Variant:
    (variant,) = variants(runtime, layer, precision)
    assert variant.failure
    return variant


def least_us(runtime: OnnxRuntime, layer: Layer) -> float:
    return min(measured(runtime, layer).samples_us)


def chain_of_relus(length: int, elements: int) -> LayerModel:
    """A model: each Relu reads what the one before it wrote."""
    operators = tuple(operator("Relu", 6, (at,), (at + 1,)) for at in range(length))
    return layer_model(Layer((floats(elements),) * (length + 1), operators, (length,)))


def least_call_us(model: LayerModel) -> float:
    """Over several sessions, too: where a session's memory lies makes a factor of two."""
    sessions = (Session(model.proto, {}, model.inputs, CPU, 1) for _ in range(ROUNDS))
    return min(session.call().us for session in sessions for _ in range(200))


@pytest.mark.alone
def test_a_small_layer_takes_what_it_takes_in_a_model(runtime: OnnxRuntime) -> None:
    """The overhead of a call is not the layer's: it is some ten times what the layer takes."""
    models = chain_of_relus(200, 1_000), chain_of_relus(1, 1_000)
    rounds = [(*map(least_call_us, models), least_us(runtime, relu(1_000))) for _ in range(ROUNDS)]
    in_model_us = min(model_us for model_us, _, _ in rounds) / 200
    call_us = min(call_us for _, call_us, _ in rounds)
    layer_us = statistics.median(layer_us for _, _, layer_us in rounds)
    assert in_model_us / 2 < layer_us < in_model_us * 2
    assert layer_us < call_us / 2


class Net:
    """A ResNet's basic block, optimised and profiled by ONNX Runtime itself."""

    def __init__(self, folder: Path) -> None:
        x, kernels = floats(1, 64, 28, 28), weights(64, 64, 3, 3)
        tensors = (x, kernels, x, x, kernels, x, x, x)
        operators = (
            operator("Conv", 11, (0, 1), (2,), kernel_shape=(3, 3), pads=(1, 1, 1, 1)),
            operator("Relu", 13, (2,), (3,)),
            operator("Conv", 11, (3, 4), (5,), kernel_shape=(3, 3), pads=(1, 1, 1, 1)),
            operator("Add", 13, (5, 0), (6,)),
            operator("Relu", 13, (6,), (7,)),
        )
        self._model = layer_model(Layer(tensors, operators, (7,)))
        self._folder = folder

    def least_conv_us(self, calls: int) -> float:
        options = session_options(self._model.constants, CPU, threads=1)
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.enable_profiling = True
        options.profile_file_prefix = str(self._folder / "profile")
        session = ort.InferenceSession(self._model.proto.SerializeToString(), options)
        for _ in range(calls):
            session.run(None, self._model.inputs)
        events = json.loads(Path(session.end_profiling()).read_text())
        times = [
            event["dur"]
            for event in events
            if event["name"].endswith("_kernel_time")
            and event["args"]["op_name"] in ("Conv", "FusedConv")
        ]
        assert len(times) == 2 * calls
        return float(min(times))


@pytest.mark.alone
def test_a_convolution_takes_what_the_profiler_says(runtime: OnnxRuntime, tmp_path: Path) -> None:
    net, layer = Net(tmp_path), conv_group(64, 28, "Relu")
    rounds = [(net.least_conv_us(50), least_us(runtime, layer)) for _ in range(ROUNDS)]
    profiled_us, layer_us = map(min, zip(*rounds, strict=True))
    # Other programs only add to a time. Where memory lies makes a difference of a tenth.
    assert layer_us == pytest.approx(profiled_us, rel=0.25)


@pytest.mark.alone
def test_twice_the_work_takes_twice_the_time(runtime: OnnxRuntime) -> None:
    one, two = gemm(256, 256, 256), gemm(512, 256, 256)
    times = [(least_us(runtime, one), least_us(runtime, two)) for _ in range(ROUNDS)]
    ratio = min(t for _, t in times) / min(t for t, _ in times)
    assert 1.6 < ratio < 2.4


@pytest.mark.parametrize("layer", [relu(100), conv(8, 16), gemm(1, 512, 64)], ids=Layer.title)
def test_samples_and_their_summary(runtime: OnnxRuntime, layer: Layer) -> None:
    outcome = runtime.measure(layer, "fp32")
    variant = min(warm(outcome.variants), key=time_us)
    assert (variant.library, variant.algorithm) == ("onnxruntime-cpu", layer.title())
    assert variant.stopped_by in (StoppedBy.CONVERGED, StoppedBy.CAP)
    assert 2 <= len(variant.samples_us) <= 5  # each of many calls; two on a busy machine
    assert min(variant.samples_us) > 0
    assert variant.minimum_us == min(variant.samples_us)
    assert variant.median_us == pytest.approx(np.median(variant.samples_us))
    lower, upper = np.percentile(variant.samples_us, (25, 75))
    assert variant.iqr_us == pytest.approx(upper - lower)
    environment = outcome.environment
    assert {"copies", "disturbed_samples", "load_average", "seconds"} <= set(environment)
    assert int(environment["copies"]) > 1


def test_a_large_layer_is_called_alone(runtime: OnnxRuntime) -> None:
    outcome = runtime.measure(gemm(512, 1024, 1024), "fp32")
    assert outcome.environment["copies"] == "1"


@pytest.mark.parametrize(
    ("group", "algorithm"),
    [
        (conv_group(17, 16, "Relu"), "FusedConv"),
        (conv_group(17, 16, "BatchNormalization"), "Conv"),
        (conv_group(17, 16, "BatchNormalization", "Relu"), "FusedConv"),
        (conv_group(17, 16, "BatchNormalization", "Add", "Relu"), "FusedConv"),
    ],
)
def test_a_group_that_runs_as_one_call(runtime: OnnxRuntime, group: Layer, algorithm: str) -> None:
    (variant,) = variants(runtime, group, "fp32")
    assert variant.algorithm == algorithm
    assert variant.median_us


def test_views_at_the_ends_of_a_group_are_no_calls(runtime: OnnxRuntime) -> None:
    """A product of three axes and its bias are a Gemm, as within a model."""
    y = floats(2, 5, 8)
    tensors = floats(2, 5, 12), weights(12, 8), weights(8), y, y
    operators = operator("MatMul", 13, (0, 1), (3,)), operator("Add", 14, (3, 2), (4,))
    (variant,) = variants(runtime, Layer(tensors, operators, (4,)), "fp32")
    assert variant.algorithm == "Gemm"
    assert variant.median_us


def test_a_group_that_runs_as_several_calls(runtime: OnnxRuntime) -> None:
    operators = (operator("Relu", 13, (0,), (1,)), operator("Exp", 13, (1,), (2,)))
    variant = failed(runtime, Layer((floats(4),) * 3, operators, (2,)))
    assert variant.failure == "ONNX Runtime runs it as 2 calls: Relu, Exp"
    assert variant.algorithm == "Relu+Exp"


@needs_blocks
def test_a_convolution_is_timed_in_both_layouts(runtime: OnnxRuntime) -> None:
    group = conv_group(32, 14, "BatchNormalization", "Add", "Relu")
    plain, in_blocks = variants(runtime, group, "fp32")
    assert not plain.failure
    assert not in_blocks.failure
    assert (plain.layout, plain.algorithm) == ("NCHW", "FusedConv")
    assert (in_blocks.layout, in_blocks.algorithm) == ("NCHWc", "Conv")
    for variant in (plain, in_blocks):
        # It reads two feature maps, and writes one: `test_block_conversions.py` counts them.
        assert variant.layout_change_us is not None
        assert variant.write_change_us is not None
        assert variant.layout_change_us > variant.write_change_us > 0


@needs_blocks
@pytest.mark.parametrize(
    ("plain_us", "plain_stopped_by"), [(12.0, StoppedBy.SCREENED), (8.0, StoppedBy.CAP)]
)
def test_the_slower_layout_is_only_screened(
    runtime: OnnxRuntime,
    monkeypatch: pytest.MonkeyPatch,
    plain_us: float,
    plain_stopped_by: StoppedBy,
) -> None:
    """If ONNX's own layout is the faster one, both are timed in full."""

    def timed(
        _: CopiesTimer, model: LayerModel, provider: Provider, copies: int, rule: Rule
    ) -> TimedCopies:
        in_blocks = any(node.domain == DOMAIN for node in model.proto.graph.node)
        return TimedCopies((10.0 if in_blocks else plain_us,), StoppedBy.CAP, copies, 0)

    monkeypatch.setattr(CopiesTimer, "timed", timed)
    plain, in_blocks = warm(variants(runtime, conv(16, 6), "fp32"))
    assert (plain.median_us, plain.stopped_by) == (plain_us, plain_stopped_by)
    assert (in_blocks.median_us, in_blocks.stopped_by) == (10.0, StoppedBy.CAP)


@needs_blocks
@pytest.mark.parametrize(
    ("layer", "layout", "changes"),
    [
        (single("Add", 7, (MAP, MAP), (MAP,)), "", (False, True)),
        (
            single("DepthToSpace", 13, (MAP,), (floats(1, 8, 28, 28),), blocksize=2),
            "NCHW",
            (True, True),
        ),
        (relu(64), "", (False, False)),
        (conv(3, 14), "NCHWc", (True, True)),
        (single("Sigmoid", 13, (ODD_MAP,), (ODD_MAP,)), "NCHWc", (True, True)),
    ],
    ids=["takes either", "channels first", "no feature maps", "few channels", "odd channels"],
)
def test_layouts_of_other_layers(
    runtime: OnnxRuntime, layer: Layer, layout: str, changes: tuple[bool, bool]
) -> None:
    variant = variants(runtime, layer, "fp32")[-1]
    assert not variant.failure
    assert variant.layout == layout
    assert (bool(variant.layout_change_us), bool(variant.write_change_us)) == changes


def test_a_group_that_is_computed_beforehand(runtime: OnnxRuntime) -> None:
    operators = (operator("Relu", 13, (0,), (1,)), operator("Relu", 13, (1,), (2,)))
    group = Layer((weights(4), floats(4), floats(4)), operators, (2,))
    assert "nothing left to run" in failed(runtime, group).failure


def test_a_type_without_kernels_is_a_failure(runtime: OnnxRuntime) -> None:
    failure = failed(runtime, conv(2, 4), "fp16").failure
    assert failure == "ONNX Runtime has no kernel for this type: it casts to float32 and back"


@pytest.mark.parametrize(
    ("layer", "precision", "reason"),
    [
        (relu(4), "tf32", "TF32 is a mode of GPUs; a CPU has none"),
        (conv(2, 4), "bf16", "Conv in version 1 takes no bfloat16"),
        (
            single("Relu", 1, (floats(4),), (floats(4),)),
            "fp32",
            "Relu in version 1 is older than opset 7",
        ),
    ],
)
def test_refused(runtime: OnnxRuntime, layer: Layer, precision: Precision, reason: str) -> None:
    outcome = runtime.measure(layer, precision)
    assert outcome.variants == ()
    assert outcome.failure.startswith(reason)


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (
            single("Nonsense", 1, (floats(2),), (floats(2),), domain="mine"),
            "ONNX Runtime: .*mine:Nonsense",
        ),
        (
            single("Relu", 14, (Tensor("bool", (2,)),), (Tensor("bool", (2,)),)),
            r"ONNX Runtime: .*tensor\(bool\).* of operator \(Relu\)",
        ),
        (single("Identity", 13, (Tensor("string", (2,)),), (floats(2),)), "Identity reads string"),
        (
            single("Gather", 13, (floats(4, 5), Tensor("int64", (7,))), (floats(8, 5),), axis=0),
            "ONNX Runtime: .*shape",
        ),
    ],
)
def test_what_can_not_be_run_fails_with_the_reason(
    runtime: OnnxRuntime, layer: Layer, reason: str
) -> None:
    outcome = runtime.measure(layer, "fp32")
    assert outcome.variants == ()
    assert re.match(reason, outcome.failure)


@pytest.mark.parametrize("shape", [(1, 64), (1, 32, 7, 7)])
def test_an_operator_of_onnx_runtimes_own_domain(
    runtime: OnnxRuntime, shape: tuple[int, ...]
) -> None:
    layer = single("FastGelu", 1, (floats(*shape),), (floats(*shape),), domain="com.microsoft")
    (variant,) = variants(runtime, layer, "fp32")
    assert not variant.failure
    assert variant.algorithm == "FastGelu"


@needs_blocks
def test_what_can_not_be_had_in_blocks_keeps_its_other_time(
    runtime: OnnxRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: LayerModel) -> None:
        raise RuntimeError("no\nblocks")

    monkeypatch.setattr(forms, "blocked", refuse)
    plain, in_blocks = variants(runtime, conv(32, 7), "fp32")
    assert not plain.failure
    assert in_blocks.failure
    assert (plain.layout, in_blocks.layout) == ("NCHW", "NCHWc")
    assert in_blocks.failure == "ONNX Runtime: no blocks"


@needs_blocks
def test_what_can_not_be_timed_in_blocks_keeps_its_other_time(
    runtime: OnnxRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = CopiesTimer.copies

    def refuse(self: CopiesTimer, model: LayerModel, provider: Provider) -> int:
        if any(node.domain == DOMAIN and node.op_type == "Conv" for node in model.proto.graph.node):
            raise MemoryError("for blocks")
        return copies(self, model, provider)

    monkeypatch.setattr(CopiesTimer, "copies", refuse)
    plain, in_blocks = variants(runtime, conv(24, 9), "fp32")
    assert not plain.failure
    assert in_blocks.failure
    assert in_blocks.failure == "ONNX Runtime: for blocks"


@needs_blocks
def test_conversions_that_a_failed_layer_left_are_timed_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no time")

    runtime = OnnxRuntime(threads=1, libraries=())
    with monkeypatch.context() as failing:
        failing.setattr(OnnxRuntime, "_timed", fail)
        assert "no time" in runtime.measure(conv(16, 8), "fp32").failure
    made: list[Direction] = []
    model = block_conversions._model

    def noted(shape: Shape, direction: Direction) -> LayerModel:
        made.append(direction)
        return model(shape, direction)

    monkeypatch.setattr(block_conversions, "_model", noted)
    assert not runtime.measure(conv(16, 8), "fp32").failure
    assert made


def test_the_system(runtime: OnnxRuntime) -> None:
    system = runtime.system()
    assert system == identified(system)
    assert (system.runtime, system.threads, system.accelerator) == ("onnxruntime", 1, "")
    assert system.libraries == {"onnxruntime": ort.__version__}
    assert system.cpu
    assert system.method
    assert OnnxRuntime(threads=2, libraries=()).system().system_id != system.system_id


@pytest.mark.alone
def test_no_layer_is_faster_than_the_ceilings(runtime: OnnxRuntime) -> None:
    ceilings = {ceiling.name: ceiling for ceiling in runtime.ceilings("fp32")}
    assert sorted(ceilings) == ["bandwidth", "flops", "launches"]
    assert 1e9 < ceilings["bandwidth"].value < 1e13
    assert 1e9 < ceilings["flops"].value < 1e14
    product_us = least_us(runtime, gemm(384, 384, 384))
    assert product_us * ceilings["flops"].value * 1e-6 > 0.9 * 2 * 384**3
    relu_us = least_us(runtime, relu(100_000))
    assert relu_us * ceilings["bandwidth"].value * 1e-6 > 0.9 * 800_000
    described = SystemMeasured(
        event_id=event_id("SystemMeasured", "test"),
        system=runtime.system(),
        measured_at=datetime(2026, 1, 1, tzinfo=UTC),
        ceilings=tuple(ceilings.values()),
    )
    assert decode(encode(described)) == described


class MadeUpLoad:
    """The counters of a machine on which others have so much of all processors."""

    def __init__(self, others: float) -> None:
        self.others = others
        self._at_s = 0.0

    def __call__(self) -> Load:
        self._at_s += 1.0
        return Load(self._at_s, 2, 2 * self.others * self._at_s, 0.0, 0.0, {})


def test_what_was_timed_on_a_busy_machine_says_so() -> None:
    load = MadeUpLoad(0.5)
    runtime = OnnxRuntime(threads=1, libraries=(), load=load)
    seen = runtime.measure(relu(64), "fp32").environment
    assert seen["stable"] == "no"
    assert OTHERS in seen["slowed_by"].split(", ")
    assert seen["busy_share"] == "0.50"
    load.others = 0.0
    seen = runtime.measure(relu(64), "fp32").environment
    assert OTHERS not in seen["slowed_by"]
    assert seen["busy_share"] == "0.00"
    assert (seen["stable"] == "no") == bool(seen["slowed_by"])


SPIN = "import sys; sys.stdout.write('.'); sys.stdout.flush()\nwhile True: pass"


@pytest.mark.alone
def test_programs_that_take_all_cores_are_seen() -> None:
    """Real ones. Whether the machine is quiet without them is not for this test to say."""
    runtime = OnnxRuntime(libraries=())
    cores = os.cpu_count() or 1
    started = [
        subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE)
        for _ in range(cores)
    ]  # fmt: skip
    try:
        for process in started:
            assert process.stdout is not None
            process.stdout.read(1)
        seen = [runtime.measure(gemm(64, 64, 64), "fp32").environment for _ in range(3)]
    finally:
        for process in started:
            process.kill()
            process.communicate()
    assert all(environment["stable"] == "no" for environment in seen)
    assert all(OTHERS in environment["slowed_by"].split(", ") for environment in seen)


@pytest.mark.parametrize("execution", get_args(Execution))
def test_what_comes_of_a_thousand_operators_can_be_published(
    runtime: OnnxRuntime, execution: Execution
) -> None:
    """Their names together are longer than an event's name may be."""
    operators = tuple(operator("Relu", 6, (at,), (at + 1,)) for at in range(1000))
    layer = Layer((floats(1),) * 1001, operators, (1000,), execution)
    runner = Runner(runtime, ["fp32"], lambda: datetime(2026, 1, 1, tzinfo=UTC))
    (event,) = runner.handle(job(layer))
    assert event.variants
    assert decode(encode(event)) == event
