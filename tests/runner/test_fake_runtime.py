"""The runtime that other tests use is a runtime like the real ones."""

import pytest

from benanza_runner.runtime import Runtime
from benanza_schemas.layer import Layer, Precision
from tests.runner.fake_runtime import FakeRuntime
from tests.runner.layers import relu
from tests.runner.runtime_contract import RuntimeContract


class TestFakeRuntime(RuntimeContract):
    runs_every_model = True

    @pytest.fixture
    def runtime(self) -> Runtime:
        return FakeRuntime()

    @pytest.fixture
    def unmeasurable(self) -> tuple[Layer, Precision]:
        return relu(2), "bf16"
