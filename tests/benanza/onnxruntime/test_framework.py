"""ONNX Runtime as a framework. With `onnxruntime-gpu`, the contract holds on a GPU."""

import time
from statistics import median

import pytest

from benanza.onnxruntime import profiled
from benanza.onnxruntime.options import ON_GPU
from benanza.profiling.framework import Framework, framework_named
from benanza.profiling.whole_model import whole_model
from benanza_backbone.errors import BenanzaError
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_schemas.events import device
from tests.benanza.profiling.framework_contract import FrameworkContract, small_model
from tests.ingest.onnx_text import content

pytestmark = pytest.mark.integration


@pytest.fixture
def cpu() -> Framework:
    """ONNX Runtime, if it runs on the CPU here."""
    found = framework_named("onnxruntime")
    if found.system().accelerator:
        pytest.skip("ONNX Runtime runs on a GPU here")
    return found


@pytest.fixture
def gpu() -> Framework:
    """ONNX Runtime, if it runs on a GPU here."""
    found = framework_named("onnxruntime")
    if not found.system().accelerator:
        pytest.skip("ONNX Runtime runs on the CPU here")
    return found


class TestOnnxRuntime(FrameworkContract):
    @pytest.fixture
    def framework(self) -> Framework:
        return framework_named("onnxruntime")


def test_its_device_is_that_of_the_runtime_that_measures_layers(cpu: Framework) -> None:
    assert device(cpu.system()) == device(OnnxRuntime().system())


def test_the_levels_join_more_and_more(cpu: Framework) -> None:
    """Without optimisations each layer is a call; by default Conv, Relu and Add are one."""
    calls = {
        each.name: [
            call.layers for call in cpu.profile(small_model(), "fp32", each).calls if call.layers
        ]
        for each in cpu.configurations()
    }
    assert calls["no optimisations"] == [(0,), (1,), (2,), (3,), (4,)]
    assert len(calls["extended optimisations"]) < 5
    assert calls["default options"][0] == (0, 1)


def test_its_threads_sleep_between_runs(cpu: Framework) -> None:
    """They would take processors from sessions of other batch sizes. By default they wait in a loop
    for about as long as each look takes.
    """
    model = small_model()
    session = cpu.load(model, "fp32", cpu.configurations()[0])
    looks_s = []
    for _ in range(11):
        session(model.inputs)
        began_s = time.process_time()
        time.sleep(0.01)
        looks_s.append(time.process_time() - began_s)
    assert median(looks_s) < 0.003


def test_another_precision_needs_another_export_on_the_cpu(cpu: Framework) -> None:
    found = cpu.profile(small_model(), "fp16", cpu.configurations()[0])
    assert "export it at fp16" in found.failure


@pytest.mark.gpu
def test_a_cuda_graph_is_not_loaded_as_it_has_inputs_of_its_own(cpu: Framework) -> None:
    captured = next(each for each in ON_GPU if each.name == "CUDA graph")
    with pytest.raises(BenanzaError, match="inputs of its own: take 'bound to the GPU'"):
        cpu.load(small_model(), "fp32", captured)


def test_what_fails_at_the_first_run_isn_t_loaded(cpu: Framework) -> None:
    net = """
        g (int64[1] x) => (float[1] y) {
            data = Constant <value = float[2] {1, 2}> ()
            far = Constant <value = int64[1] {100}> ()
            at = Add(x, far)
            y = Gather(data, at)
        }
    """
    model = whole_model(content(net))
    with pytest.raises(BenanzaError, match="out of data bounds"):
        cpu.load(model, "fp32", cpu.configurations()[0])


def test_a_gpu_copies_inputs_and_outputs_that_are_not_bound(gpu: Framework) -> None:
    found = {each.name: gpu.profile(small_model(), "fp16", each) for each in gpu.configurations()}
    assert {name: each.failure for name, each in found.items() if each.failure} == {}
    ops = [call.op for call in found["default options"].calls if not call.layers]
    assert sorted(ops) == ["Memcpy DtoH", "Memcpy HtoD"]
    assert not any("Memcpy" in call.op for call in found["bound to the GPU"].calls)
    assert found["CUDA graph"].calls == ()


@pytest.mark.gpu
def test_each_call_on_a_gpu_names_its_kernels(gpu: Framework) -> None:
    bound = next(each for each in gpu.configurations() if each.name == "bound to the GPU")
    calls = gpu.profile(small_model(), "fp32", bound).calls
    conv = next(call for call in calls if 0 in call.layers)
    assert conv.kernels
    assert not any(kernel.name.startswith("_Z") for kernel in conv.kernels)


@pytest.mark.gpu
def test_an_operator_without_a_kernel_for_the_gpu_is_between_copies(gpu: Framework) -> None:
    text = """
    g (float[1, 64, 56, 56] x) => (float[1, 64, 56, 56] y)
    <float[64, 64, 3, 3] w = ["location": "w"]> {
        a = Conv <pads = [1, 1, 1, 1]> (x, w)
        b = Tan(a)
        y = Conv <pads = [1, 1, 1, 1]> (b, w)
    }
    """
    bound = next(each for each in gpu.configurations() if each.name == "bound to the GPU")
    calls = gpu.profile(whole_model(content(text)), "fp32", bound).calls
    ops = {call.op: call for call in calls}
    assert ops["Tan"].layers == (1,)
    assert ops["Tan"].median_us > 0
    for copy, kernel in {"MemcpyToHost": "Memcpy DtoH", "MemcpyFromHost": "Memcpy HtoD"}.items():
        assert ops[copy].layers == ()
        assert [each.name for each in ops[copy].kernels] == [kernel]
    starts = [ops[op].start_us for op in ("MemcpyToHost", "Tan", "MemcpyFromHost")]
    convolutions = [call.start_us for call in calls if call.layers in ((0,), (2,))]
    assert [convolutions[0], *starts, convolutions[1]] == sorted([*convolutions, *starts])


def test_a_framework_that_nobody_installed() -> None:
    with pytest.raises(BenanzaError, match=r"no framework 'nothing'; installed are .*onnxruntime"):
        framework_named("nothing")


def test_layers_of_equal_time_are_looked_at_as_long_as_the_events_fit(cpu: Framework) -> None:
    many = "".join(f"x{i + 1} = Relu(x{i})\n" for i in range(300))
    text = f"g (float[4] x0) => (float[4] x300) {{ {many} }}"
    model = whole_model(content(text))
    found = cpu.profile(model, "fp32", cpu.configurations()[-1])
    assert found.times_looked_at is not None
    assert len(found.calls) == 300
    assert len(found.times_looked_at.samples_us) == 20_000 // 300


def test_nodes_that_it_writes_out_and_bodies_have_their_layers(cpu: Framework) -> None:
    """It has no kernel of HardSwish, and gives no names to what it puts in the place of each."""
    text = """
    g (float[2, 8] x, int64 n) => (float[2, 8] y) {
        yes = Constant <value = bool {1}> ()
        a = HardSwish(x)
        b = Loop (n, yes, a) <body = l (int64 i, bool c, float[2, 8] p)
            => (bool d, float[2, 8] q) { d = Identity(c) q = Neg(p) }>
        y = HardSwish(b)
    }
    """
    found = cpu.profile(whole_model(content(text)), "fp32", cpu.configurations()[0])
    assert found.failure == ""
    layers = [(call.op, call.layers) for call in found.calls if call.layers]
    assert layers == [
        *(("HardSigmoid", (0,)), ("Mul", (0,))),
        ("Loop", (1,)),
        *(("HardSigmoid", (2,)), ("Mul", (2,))),
    ]
    assert "Neg" not in {call.op for call in found.calls}


def test_where_calls_can_not_be_timed_the_time_of_the_run_stays(
    cpu: Framework, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise ValueError("no such event")

    monkeypatch.setattr(profiled, "executions_in", unreadable)
    found = cpu.profile(small_model(), "fp32", cpu.configurations()[0])
    assert found.times is not None
    assert "no such event" in found.failure
    assert (found.times_looked_at, found.calls) == (None, ())
