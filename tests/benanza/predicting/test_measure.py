"""The ceilings of the GPU here, as a file."""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from benanza.predicting.measure import measured_specification
from benanza.predicting.specification import read_specification
from benanza_analyzer.prediction.gpu import GpuSpecification
from benanza_backbone.errors import BenanzaError
from benanza_runner.cuda.available import why_unavailable
from benanza_schemas.events import Ceiling, System, identified
from benanza_schemas.layer import Precision
from tests.runner.fake_runtime import FakeRuntime


class Gpu(FakeRuntime):
    """A GPU without bf16 whose bandwidths are highest in fp16."""

    def system(self) -> System:
        return identified(replace(super().system(), accelerator="a GPU"))

    def ceilings(self, precision: Precision) -> tuple[Ceiling, ...]:
        more = 2.0 if precision == "fp16" else 1.0
        found = (
            Ceiling("bandwidth", precision, more * 3e12, 0.0),
            Ceiling("memory", precision, more * 1e12, 0.0),
            Ceiling("launches", precision, 1e6, 0.0),
        )
        if precision == "bf16":
            return found
        return (*found, Ceiling("flops", precision, more * 2e13, 0.0))


def of(runtime: FakeRuntime) -> GpuSpecification:
    return measured_specification(runtime, compute_capability="9.0", multiprocessors=100, clock=2e9)


def test_the_highest_ceilings_count() -> None:
    assert of(Gpu()) == GpuSpecification(
        name="a GPU",
        figures="measured",
        compute_capability="9.0",
        multiprocessors=100,
        clock=2e9,
        memory=2e12,
        cache_bytes=4096,
        flops={"fp32": 2e13, "tf32": 2e13, "fp16": 4e13},
        cache_bandwidth=6e12,
        launch_us=1.0,
    )


def test_a_ceiling_that_is_lacking_is_said() -> None:
    with pytest.raises(BenanzaError, match="not all ceilings could be measured"):
        of(FakeRuntime())


def test_it_needs_no_client_of_a_store() -> None:
    clients = "chdb", "clickhouse_connect", "confluent_kafka", "faust"
    code = f"import sys, benanza.predicting.measure; print({{*sys.modules}} & {{*{clients}}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.skipif(why_unavailable() is None, reason="there is a GPU to measure")
def test_without_a_gpu_it_says_why() -> None:
    command = [sys.executable, "-m", "benanza.predicting.measure"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("no ceilings can be measured: ")


@pytest.mark.gpu
@pytest.mark.skipif(why_unavailable() is not None, reason="there is no GPU to measure")
def test_the_gpu_here_is_described(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benanza.predicting.measure"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    file = tmp_path / "here.toml"
    file.write_text(done.stdout, encoding="utf-8")
    gpu = read_specification(file)
    assert gpu.figures == "measured"
    assert gpu.flops["fp16"] > gpu.flops["fp32"]
    assert gpu.cache_bandwidth is not None
    assert gpu.cache_bandwidth > gpu.memory
