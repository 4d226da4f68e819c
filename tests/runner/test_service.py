"""What a runner shows of itself while it serves."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from benanza_backbone.service.process import Service
from benanza_backbone.settings import load
from benanza_backbone.telemetry import REGISTRY
from benanza_runner.service import serve
from benanza_schemas.events import System, identified
from tests.runner.fake_runtime import FakeRuntime


class Accelerated(FakeRuntime):
    """Measures on a GPU."""

    def system(self) -> System:
        return identified(msgspec.structs.replace(super().system(), accelerator="NVIDIA GPU 0"))


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(("runtime", "watts"), [(Accelerated(), 83.919), (FakeRuntime(), None)])
def test_its_gpu_is_on_its_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, runtime: FakeRuntime, watts: float | None
) -> None:
    labels = {"gpu": "GPU-10000000-0000", "kind": "NVIDIA GPU 0"}
    shown: list[float | None] = []

    def run(service: Service, started: Callable[[str], None]) -> int:
        shown.append(REGISTRY.get_sample_value("benanza_gpu_power_watts", labels))
        return 0

    monkeypatch.setattr(Service, "run", run)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    settings = load({"BENANZA_KAFKA": "127.0.0.1:1", "BENANZA_DATA": str(tmp_path)})
    assert serve(settings, lambda groups, address: None, runtime=runtime, precisions=["fp32"]) == 0
    assert shown == [pytest.approx(watts) if watts else None]
    assert REGISTRY.get_sample_value("benanza_gpu_power_watts", labels) is None
