"""What every adapter of `Framework` must do: a suite that each adapter's tests inherit."""

import time
from abc import ABC, abstractmethod
from math import fsum

import numpy as np
import pytest
from onnx import TypeProto

from benanza.profiling.framework import Framework, Profile, Session
from benanza.profiling.whole_model import WholeModel, whole_model
from benanza_backbone.errors import BenanzaError
from tests.ingest.onnx_text import content

SMALL = """
g (float[1, 16, 32, 32] x) => (float[1, 10] y)
<float[16, 16, 3, 3] w = ["location": "w"], float[16] b = ["location": "b"],
 float[16384, 10] v = ["location": "v"]> {
    conv = Conv <pads = [1, 1, 1, 1]> (x, w, b)
    relu = Relu(conv)
    sum = Add(relu, x)
    flat = Flatten(sum)
    y = MatMul(flat, v)
}
"""

ROUNDED_US = 2.0
"""Profilers may count whole microseconds."""


def small_model() -> WholeModel:
    """A model of five layers, the fourth of them a view."""
    return whole_model(content(SMALL))


class FrameworkContract(ABC):
    """Subclasses give the `framework`, and `model`, `views` and `broken` if it can't run the small
    model.
    """

    @abstractmethod
    @pytest.fixture
    def framework(self) -> Framework:
        """The framework under test."""

    @pytest.fixture
    def model(self) -> WholeModel:
        """A small model that the framework can run."""
        return small_model()

    @pytest.fixture
    def views(self) -> set[int]:
        """The positions of those of its layers that only view their input."""
        return {3}

    @pytest.fixture
    def broken(self) -> WholeModel:
        """A model that the framework can't run."""
        model = small_model()
        model.proto.graph.node[1].op_type = "Nonsense"
        return model

    @pytest.fixture
    def session(self, framework: Framework, model: WholeModel) -> Session:
        """The model, loaded with the first configuration."""
        return framework.load(model, "fp32", framework.configurations()[0])

    @pytest.fixture
    def profile(self, framework: Framework, model: WholeModel) -> Profile:
        """That of the model with the first configuration."""
        return framework.profile(model, "fp32", framework.configurations()[0])

    def test_its_system_names_the_framework_and_its_version(self, framework: Framework) -> None:
        system = framework.system()
        assert system.libraries[system.runtime]
        assert system == framework.system()

    def test_a_session_takes_inputs_in_memory_of_the_framework(
        self, framework: Framework, model: WholeModel, session: Session
    ) -> None:
        placed = {name: framework.memory_like(array) for name, array in model.inputs.items()}
        for name, array in model.inputs.items():
            assert (placed[name].shape, placed[name].dtype) == (array.shape, array.dtype)
            np.copyto(placed[name], array)
        for there, here in zip(session(placed), session(model.inputs), strict=True):
            np.testing.assert_array_equal(there, here)

    def test_configurations_have_names_of_their_own(self, framework: Framework) -> None:
        found = framework.configurations()
        assert found
        assert len({each.name for each in found}) == len(found)
        assert len({frozenset(each.options.items()) for each in found}) == len(found)

    def test_a_run_takes_time(self, profile: Profile) -> None:
        assert profile.failure == ""
        assert profile.times is not None
        assert profile.times.median_us > 0
        assert len(profile.times.samples_us) >= 5

    def test_every_layer_but_views_is_in_one_call(
        self, profile: Profile, model: WholeModel, views: set[int]
    ) -> None:
        if not profile.calls:
            pytest.skip("it doesn't look into runs")
        positions = [at for call in profile.calls for at in call.layers]
        assert len(positions) == len(set(positions))
        layers = set(range(len(model.layers.node)))
        assert layers - views <= set(positions) <= layers

    def test_calls_follow_each_other_within_a_run(self, profile: Profile) -> None:
        if profile.times_looked_at is None:
            pytest.skip("it doesn't look into runs")
        starts = [call.start_us for call in profile.calls]
        assert starts == sorted(starts)
        run_us = profile.times_looked_at.median_us
        assert 0 < fsum(call.median_us for call in profile.calls) <= 1.2 * run_us
        assert starts[-1] <= run_us

    def test_a_session_computes_what_it_is_given(self, session: Session, model: WholeModel) -> None:
        doubled = {name: 2 * array for name, array in model.inputs.items()}
        (once,) = session(model.inputs)
        kept = once.copy()
        (other,) = session(doubled)
        (again,) = session(model.inputs)
        assert once.shape == tuple(d.dim_value for d in _only_output(model).shape.dim)
        assert np.abs(other - once).max() > 0.01 * np.abs(once).max()
        np.testing.assert_array_equal(once, kept)
        np.testing.assert_allclose(again, once, rtol=1e-4)

    def test_each_observed_run_has_its_own_calls(
        self, framework: Framework, session: Session, model: WholeModel, views: set[int]
    ) -> None:
        configuration = framework.configurations()[0]
        try:
            observing = framework.observe(model, "fp32", configuration, gpu=False)
        except BenanzaError as error:
            pytest.skip(f"it can't be observed: {error}")
        with observing as observed:
            before_us = time.time_ns() / 1_000
            (output,) = observed.run(model.inputs)
            observed.run(model.inputs)
            after_us = time.time_ns() / 1_000
            once, again = observed.runs()
        np.testing.assert_allclose(output, session(model.inputs)[0], rtol=1e-4, atol=1e-4)
        assert before_us - ROUNDED_US <= once.start_us
        assert once.start_us + once.us <= again.start_us + ROUNDED_US
        assert again.start_us + again.us <= after_us + ROUNDED_US
        for run in (once, again):
            ends = [call.start_us + call.median_us for call in run.calls]
            assert run.calls[0].start_us >= 0
            assert max(ends) <= run.us + ROUNDED_US
            positions = {at for call in run.calls for at in call.layers}
            assert set(range(len(model.layers.node))) - views <= positions

    def test_what_is_observed_on_a_gpu_has_kernels(
        self, framework: Framework, model: WholeModel
    ) -> None:
        if not framework.system().accelerator:
            pytest.skip("it runs on no GPU")
        configuration = framework.configurations()[0]
        with framework.observe(model, "fp32", configuration, gpu=True) as observed:
            observed.run(model.inputs)
            observed.run(model.inputs)
            runs = observed.runs()
        for run in runs:
            assert any(call.kernels for call in run.calls)
            assert all(kernel.median_us > 0 for call in run.calls for kernel in call.kernels)

    def test_a_session_of_what_it_refuses_says_why(
        self, framework: Framework, broken: WholeModel
    ) -> None:
        with pytest.raises(BenanzaError) as raised:
            framework.load(broken, "fp32", framework.configurations()[0])
        assert "\n" not in str(raised.value)

    def test_what_it_refuses_is_a_failure(self, framework: Framework, broken: WholeModel) -> None:
        found = framework.profile(broken, "fp32", framework.configurations()[0])
        assert found.failure
        assert "\n" not in found.failure
        assert (found.times, found.calls) == (None, ())


def _only_output(model: WholeModel) -> TypeProto.Tensor:
    (output,) = model.proto.graph.output
    return output.type.tensor_type
