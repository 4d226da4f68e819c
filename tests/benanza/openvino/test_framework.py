"""OpenVINO as a framework."""

from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from benanza.profiling.framework import Framework, Profile, framework_named
from benanza.profiling.whole_model import WholeModel, whole_model
from benanza_runner.arrays import Array
from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_runner.onnxruntime.session import CPU, session_options
from benanza_schemas.events import device
from tests.benanza.profiling.framework_contract import FrameworkContract, small_model
from tests.ingest.onnx_text import content

ov = pytest.importorskip("openvino")

from benanza.openvino import framework as adapter  # noqa: E402
from benanza.openvino.compiled import PRECISION_HINT, Compiled  # noqa: E402
from benanza.openvino.reading import read  # noqa: E402

pytestmark = pytest.mark.integration

SOON = Rule(warm_up_us=1_000, least_us=50_000, cap_us=100_000)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of less than a second are enough here."""
    monkeypatch.setattr(adapter, "RULE", SOON)


@cache
def _profiled() -> Profile:
    found = framework_named("openvino")
    return found.profile(small_model(), "fp32", found.configurations()[0])


class TestOpenVino(FrameworkContract):
    @pytest.fixture
    def framework(self) -> Framework:
        return framework_named("openvino")

    @pytest.fixture
    def profile(self) -> Profile:
        return _profiled()

    @pytest.mark.alone
    def test_calls_follow_each_other_within_a_run(self, profile: Profile) -> None:
        """Its calls are timed in other runs than the whole, so nothing may run beside both."""
        super().test_calls_follow_each_other_within_a_run(profile)


def _outputs(model: WholeModel, folder: Path) -> list[Array]:
    core = ov.Core()
    properties = {PRECISION_HINT: ov.Type.f32}
    compiled = Compiled(core, read(core, model, folder), model.inputs, properties)
    compiled.run()
    return [compiled.request.get_tensor(each.name).data for each in model.proto.graph.output]


def test_its_device_is_that_of_the_runtime_that_measures_layers() -> None:
    assert device(framework_named("openvino").system()) == device(OnnxRuntime().system())


def test_it_computes_what_onnx_runtime_does(tmp_path: Path) -> None:
    """In float32: in bfloat16, which OpenVINO takes by itself where the CPU has it, results have
    three digits.
    """
    model = small_model()
    options = session_options(model.weights, CPU, threads=1)
    session = ort.InferenceSession(model.proto.SerializeToString(), options)
    for found, expected in zip(
        _outputs(model, tmp_path), session.run(None, model.inputs), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_it_reads_types_that_numpy_lacks(tmp_path: Path) -> None:
    model = whole_model(content("g (bfloat16[4] x) => (float[4] y) { y = Cast <to = 1> (x) }"))
    (found,) = _outputs(model, tmp_path)
    assert np.array_equal(found, model.inputs["x"].astype(np.float32))


def test_it_takes_inputs_without_axes_and_of_any_strides(tmp_path: Path) -> None:
    model = whole_model(content("g (float x, float[2, 3] y) => (float[2, 3] z) { z = Mul(x, y) }"))
    core, properties = ov.Core(), {PRECISION_HINT: ov.Type.f32}
    compiled = Compiled(core, read(core, model, tmp_path), model.inputs, properties)
    columns = np.arange(6, dtype=np.float32).reshape(3, 2).T
    (found,) = compiled.results({"x": np.array(2, np.float32), "y": columns})
    assert np.array_equal(found, 2 * columns)
    compiled.run()  # it reads the copy of the columns, which has to live as long
    again = compiled.request.get_tensor("z").data
    assert np.array_equal(again, 2 * columns)


def test_its_calls_join_what_it_fuses_and_convert_layouts() -> None:
    found = {call.op: call.layers for call in _profiled().calls}
    assert {0, 1} <= set(found["Convolution"])
    assert found["FullyConnected"] == (4,)
    assert found.get("Reorder", ()) == ()


def test_layers_that_it_merges_with_weights_are_in_its_calls() -> None:
    """A normalisation becomes part of a convolution's weights and loses its name."""
    text = """
    g (float[1, 8, 16, 16] x) => (float[1, 8, 16, 16] y)
    <float[8, 8, 3, 3] w = ["location": "w"], float[8] s = ["location": "s"],
     float[8] b = ["location": "b"], float[8] m = ["location": "m"],
     float[8] v = ["location": "v"]> {
        a = Conv <pads = [1, 1, 1, 1]> (x, w)
        n = BatchNormalization(a, s, b, m, v)
        h = HardSwish(n)
        y = Add(h, x)
    }
    """
    found = framework_named("openvino")
    calls = found.profile(whole_model(content(text)), "fp32", found.configurations()[0]).calls
    convolution = next(call for call in calls if call.op == "Convolution")
    assert {0, 1} <= set(convolution.layers)
    assert {position for call in calls for position in call.layers} == {0, 1, 2, 3}


def test_precisions_that_it_refuses() -> None:
    found = framework_named("openvino")
    (latency,) = found.configurations()
    assert "a CPU has none" in found.profile(small_model(), "tf32", latency).failure
    half = whole_model(content("g (float16[4] x) => (float16[4] y) { y = Relu(x) }"))
    assert "its file has float16" in found.profile(half, "fp32", latency).failure


def test_where_calls_can_not_be_timed_the_time_of_the_run_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreadable(*_: object) -> None:
        raise ValueError("no such node")

    monkeypatch.setattr(adapter, "framework_calls", unreadable)
    found = framework_named("openvino")
    profile = found.profile(small_model(), "fp32", found.configurations()[0])
    assert profile.times is not None
    assert profile.failure == "OpenVINO: no such node"
