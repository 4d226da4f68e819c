"""PyTorch as a framework."""

import gc
import weakref
from math import fsum

import numpy as np
import pytest

from benanza.profiling.framework import (
    Framework,
    Profile,
    configuration_named,
    framework_named,
)
from benanza.profiling.whole_model import WholeModel, whole_model
from benanza_ingest.extract import extract
from benanza_runner import nvidia
from benanza_runner.cpu import available_cores, cpu_name
from benanza_schemas.events import device
from tests.benanza.profiling.framework_contract import FrameworkContract, small_model
from tests.benanza.pytorch.tiny import exported, need_pytorch, tiny_model
from tests.ingest.onnx_text import content

need_pytorch()

import torch  # noqa: E402

from benanza.pytorch import prepared as module  # noqa: E402
from benanza.pytorch.framework import PyTorchFramework  # noqa: E402
from benanza.pytorch.prepared import CapturedCall, Prepared, TorchConfiguration  # noqa: E402

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def pytorch() -> PyTorchFramework:
    return PyTorchFramework()


@pytest.fixture(scope="module")
def tiny() -> WholeModel:
    return tiny_model()


@pytest.fixture(scope="module")
def eager(pytorch: PyTorchFramework, tiny: WholeModel) -> Profile:
    """The profile of the tiny model with the first configuration."""
    return pytorch.profile(tiny, "fp32", pytorch.configurations()[0])


def profiled(
    pytorch: PyTorchFramework, model: WholeModel, name: str, precision: str = "fp32"
) -> Profile:
    (configuration,) = (each for each in pytorch.configurations() if each.name == name)
    return pytorch.profile(model, precision, configuration)  # type: ignore[arg-type]


class TestPyTorch(FrameworkContract):
    @pytest.fixture
    def framework(self) -> Framework:
        return framework_named("pytorch")

    @pytest.fixture
    def model(self, tiny: WholeModel) -> WholeModel:
        return tiny

    @pytest.fixture
    def views(self) -> set[int]:
        layers = extract(exported()).layers
        return {at for at, layer in enumerate(layers) if layer.kind == "view"}

    @pytest.fixture
    def broken(self) -> WholeModel:
        """PyTorch doesn't know it."""
        return small_model()

    @pytest.fixture
    def profile(self, eager: Profile) -> Profile:
        return eager


def test_its_device_is_that_of_the_runtime_that_measures_layers(pytorch: PyTorchFramework) -> None:
    cpu = f"{cpu_name()}, threads: {available_cores()}"
    assert device(pytorch.system()) == (nvidia.gpu().name or cpu)


def test_each_layer_is_in_the_call_of_the_node_that_it_was_exported_of(
    eager: Profile, tiny: WholeModel
) -> None:
    for call in eager.calls:
        assert {tiny.origins[at] for at in call.layers} <= {call.name}
    positions = [at for call in eager.calls for at in call.layers]
    assert sorted(positions) == list(range(len(tiny.origins)))


def test_the_calls_are_within_the_run_that_was_looked_at(eager: Profile) -> None:
    assert eager.times_looked_at is not None
    assert fsum(call.median_us for call in eager.calls) <= 1.05 * eager.times_looked_at.median_us
    assert {"aten.conv2d", "aten.relu", "aten.max_pool2d"} <= {call.op for call in eager.calls}


@pytest.mark.timeout(600)  # It compiles C++.
def test_every_configuration_has_times(pytorch: PyTorchFramework, tiny: WholeModel) -> None:
    for configuration in pytorch.configurations():
        found = pytorch.profile(tiny, "fp32", configuration)
        assert found.failure == "", configuration.name
        assert found.times is not None
        assert bool(found.calls) == configuration.name.startswith("eager")


def test_a_model_that_was_not_exported_by_us_is_refused(pytorch: PyTorchFramework) -> None:
    found = profiled(pytorch, small_model(), "eager")
    assert "was not exported by `benanza export`" in found.failure


def test_a_net_of_few_operators_is_translated_and_has_no_calls(pytorch: PyTorchFramework) -> None:
    text = """
    g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
    <float[4, 4, 3, 3] w = ["location": "w"]> {
        a = Conv <pads = [1, 1, 1, 1]> (x, w)
        y = Relu(a)
    }
    """
    found = profiled(pytorch, whole_model(content(text)), "eager, channels last")
    assert found.failure == ""
    assert found.times is not None
    assert found.calls == ()


def test_without_feature_maps_there_is_no_layout_to_choose(
    pytorch: PyTorchFramework, tiny: WholeModel
) -> None:
    text = tiny._replace(inputs={"input_ids": np.ones((1, 8), np.int64)})
    last = {"compiled, channels last", "eager, channels last"}
    for configuration in pytorch.configurations():
        assert pytorch.matters(tiny, configuration)
        assert pytorch.matters(text, configuration) == (configuration.name not in last)


def test_what_pytorch_raises_is_a_failure(pytorch: PyTorchFramework, tiny: WholeModel) -> None:
    unknown = tiny._replace(metadata={"benanza.pytorch.model": "timm:nothing_of_the_kind"})
    found = profiled(pytorch, unknown, "eager")
    assert "nothing_of_the_kind" in found.failure
    assert "\n" not in found.failure


@pytest.mark.skipif(bool(nvidia.gpu().name), reason="a GPU has them all")
def test_results_of_a_type_that_numpy_lacks_are_floats() -> None:
    eager = TorchConfiguration(nhwc=False, compiled=False)
    inputs = [torch.ones(2, 3)]
    prepared = Prepared(eager, torch.nn.Identity(), inputs, "cpu", torch.bfloat16)
    (found,) = prepared.results([np.full((2, 3), 0.5, np.float32)])
    assert found.dtype == np.float32
    assert (found == 0.5).all()


@pytest.mark.skipif(bool(nvidia.gpu().name), reason="a GPU has them all")
def test_a_processor_has_fp32_only(pytorch: PyTorchFramework, tiny: WholeModel) -> None:
    assert "--precision fp32" in profiled(pytorch, tiny, "eager", "fp16").failure


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "tf32", "fp16", "bf16"])
@pytest.mark.skipif(not nvidia.gpu().name, reason="needs an NVIDIA GPU")
def test_each_precision_on_a_gpu(
    pytorch: PyTorchFramework, tiny: WholeModel, precision: str
) -> None:
    for name in ("eager", "eager, channels last", "CUDA graph"):
        found = profiled(pytorch, tiny, name, precision)
        assert found.failure == ""
        assert found.times is not None
        positions = [at for call in found.calls for at in call.layers]
        wanted = list(range(len(tiny.origins))) if name.startswith("eager") else []
        assert sorted(positions) == wanted
        if found.times_looked_at is not None:
            total_us = fsum(call.median_us for call in found.calls)
            assert 0 < total_us <= found.times_looked_at.median_us


def test_a_captured_call_keeps_the_model_whose_weights_its_graph_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "captured", lambda run, calls: (None, run()))
    eager = TorchConfiguration(nhwc=False, compiled=False)
    prepared = Prepared(eager, torch.nn.Linear(3, 2), [torch.ones(1, 3)], "cpu", torch.float32)
    model = weakref.ref(prepared.model)
    call = CapturedCall(prepared, [np.ones((1, 3), np.float32)])
    del prepared
    gc.collect()
    assert model() is not None
    del call


def test_the_first_calls_of_a_captured_call_have_its_inputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What memory happened to hold was read as indices of a table."""
    monkeypatch.setattr(module, "captured", lambda run, calls: (None, run()))
    eager = TorchConfiguration(nhwc=False, compiled=False)
    indices = np.array([[4, 2]])
    prepared = Prepared(
        eager,
        torch.nn.Embedding(5, 3),
        [torch.zeros(1, 2, dtype=torch.int64)],
        "cpu",
        torch.float32,
    )
    read: list[list[int]] = []
    prepared.model.register_forward_hook(lambda _, given, __: read.append(given[0].tolist()))
    CapturedCall(prepared, [indices])
    assert read
    assert all(each == indices.tolist() for each in read)


def test_arrays_of_which_there_are_no_tensors_are_copied_first() -> None:
    array = np.arange(6.0).reshape(2, 3)
    read_only = array.copy()
    read_only.flags.writeable = False
    for each in (array, array[::-1], array.T, array.astype(">f8"), read_only):
        assert not module.is_page_locked(each)


@pytest.mark.gpu
@pytest.mark.skipif(not nvidia.gpu().name, reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("name", ["CUDA graph", "compiled, channels last"])
def test_a_captured_model_answers_for_other_inputs_as_an_eager_one(
    pytorch: PyTorchFramework, tiny: WholeModel, name: str
) -> None:
    eager, captured = (
        pytorch.load(tiny, "fp32", configuration_named(pytorch, each)) for each in ("eager", name)
    )
    shifted = [
        {key: np.roll(array, shift) for key, array in tiny.inputs.items()} for shift in (0, 1, 2)
    ]
    found = [captured(inputs) for inputs in shifted]
    for inputs, results in zip(shifted, found, strict=True):
        locked = {key: pytorch.memory_like(array) for key, array in inputs.items()}
        for key, array in inputs.items():
            np.copyto(locked[key], array)
        assert all(module.is_page_locked(array) for array in locked.values())
        again = captured(locked)
        for expected, result, repeated in zip(eager(inputs), results, again, strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)
            np.testing.assert_array_equal(repeated, result)
    backwards = {key: array[..., ::-1] for key, array in shifted[0].items()}
    for expected, result in zip(
        eager({key: array.copy() for key, array in backwards.items()}),
        captured(backwards),
        strict=True,
    ):
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not nvidia.gpu().name, reason="needs an NVIDIA GPU")
def test_no_model_that_is_captured_takes_a_stream_of_its_own(
    pytorch: PyTorchFramework, tiny: WholeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a third stream in use, kernels of all graphs started later."""
    configuration = configuration_named(pytorch, "CUDA graph")
    pytorch.load(tiny, "fp32", configuration)
    made: list[object] = []

    class Counted(torch.cuda.Stream):  # type: ignore[misc]
        def __new__(cls, *args: object, **keywords: object) -> "Counted":
            if "stream_id" not in keywords:  # else it stands for one that there is
                made.append(args)
            return super().__new__(cls, *args, **keywords)  # type: ignore[no-any-return]

    monkeypatch.setattr(torch.cuda, "Stream", Counted)
    pytorch.load(tiny, "fp32", configuration)
    assert not made
