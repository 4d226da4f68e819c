"""OpenVINO as a framework."""

import pytest

from benanza.profiling.framework import Framework, framework_named
from tests.benanza.profiling.framework_contract import FrameworkContract

pytest.importorskip("openvino")
pytestmark = pytest.mark.integration


class TestOpenVino(FrameworkContract):
    @pytest.fixture
    def framework(self) -> Framework:
        return framework_named("openvino")
