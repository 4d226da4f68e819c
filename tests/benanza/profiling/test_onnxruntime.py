"""ONNX Runtime as a framework."""

import pytest

from benanza.profiling.framework import Framework, framework_named
from benanza.profiling.onnxruntime import OnnxRuntimeFramework
from benanza.profiling.whole_model import whole_model
from benanza_backbone.errors import BenanzaError
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_schemas.events import device
from tests.benanza.profiling.framework_contract import FrameworkContract, small_model
from tests.ingest.onnx_text import content

pytestmark = pytest.mark.integration


class TestOnnxRuntime(FrameworkContract):
    @pytest.fixture
    def framework(self) -> Framework:
        return framework_named("onnxruntime")

    def test_its_device_is_that_of_the_runtime_that_measures_layers(
        self, framework: Framework
    ) -> None:
        assert device(framework.system()) == device(OnnxRuntime().system())

    def test_the_levels_join_more_and_more(self, framework: Framework) -> None:
        """Without optimisations each layer is a call; by default Conv, Relu and Add are one."""
        calls = {
            each.name: [
                call.layers
                for call in framework.profile(small_model(), "fp32", each).calls
                if call.layers
            ]
            for each in framework.configurations()
        }
        assert calls["no optimisations"] == [(0,), (1,), (2,), (3,), (4,)]
        assert len(calls["extended optimisations"]) < 5
        assert calls["default options"][0] == (0, 1)

    def test_another_precision_needs_another_export(self, framework: Framework) -> None:
        found = framework.profile(small_model(), "fp16", framework.configurations()[0])
        assert "export it at fp16" in found.failure


def test_a_framework_that_nobody_installed() -> None:
    with pytest.raises(BenanzaError, match=r"no framework 'nothing'; installed are .*onnxruntime"):
        framework_named("nothing")


def test_layers_of_equal_time_are_looked_at_as_long_as_the_events_fit() -> None:
    many = "".join(f"x{i + 1} = Relu(x{i})\n" for i in range(300))
    text = f"g (float[4] x0) => (float[4] x300) {{ {many} }}"
    model = whole_model(content(text))
    framework = OnnxRuntimeFramework()
    found = framework.profile(model, "fp32", framework.configurations()[-1])
    assert found.times_looked_at is not None
    assert len(found.calls) == 300
    assert len(found.times_looked_at.samples_us) == 20_000 // 300
