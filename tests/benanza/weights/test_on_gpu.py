"""Weights on a real GPU, shared by processes."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.weights.models import make_model
from benchmarks.weights.processes import StoreProcess

pytestmark = pytest.mark.gpu

cupy = pytest.importorskip("cupy")

TENANT = """
import sys, cupy, numpy as np
from benanza_backbone.weights.lease import leased
from benanza_backbone.weights.on_gpu import gpu_arrays
model, socket, how = sys.argv[1:]
with leased(model, socket=socket, gpu=0) as weights:
    arrays = {name: cupy.asarray(array) for name, array in gpu_arrays(weights).items()}
    def right():
        return all((cupy.asnumpy(a) == weights.arrays[n]).all() for n, a in arrays.items())
    print(right(), weights.tier, flush=True)
    sys.stdin.readline()
    if how == "write":
        arrays["weight00000"].fill(0)
        cupy.cuda.Device().synchronize()
    print(right(), flush=True)
    sys.stdin.readline()
"""

WEIGHTS = 64
"""Of 2²⁰ bytes each."""


class Tenant:
    """A process with weights on the GPU."""

    def __init__(self, model: Path, socket: Path, how: str = "read") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", TENANT, str(model), str(socket), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> str:
        """What it has written to standard error."""
        return self.process.communicate()[1]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    make_model(tmp_path / "m.onnx", weights=WEIGHTS, seed=0)
    return tmp_path / "m.onnx"


def free_bytes() -> int:
    free: Any
    free, _ = cupy.cuda.Device().mem_info
    return int(free)


def test_tenants_have_one_copy_which_outlives_the_store(model: Path, tmp_path: Path) -> None:
    cupy.zeros(1)
    before = free_bytes()
    with StoreProcess(tmp_path, "--gpu-memory", "1GB") as store:
        one = Tenant(model, store.socket)
        assert one.line() == "True source"
        with_one = free_bytes()
        other = Tenant(model, store.socket)
        assert other.line() in ("True gpu", "True source")
        # A context of CUDA takes hundreds of megabytes, and the second one as many as the first.
        assert before - with_one > WEIGHTS << 20
        store.kill()
        for tenant in (one, other):
            tenant.go_on()
            assert tenant.line() == "True"
        one.process.send_signal(signal.SIGKILL)
        one.process.wait()
        other.go_on()
        assert other.process.wait(30) == 0
    assert free_bytes() >= before - (8 << 20)


def test_a_tenant_cannot_write(model: Path, tmp_path: Path) -> None:
    with StoreProcess(tmp_path, "--gpu-memory", "1GB") as store:
        writer, reader = Tenant(model, store.socket, "write"), Tenant(model, store.socket)
        assert writer.line().startswith("True")
        assert reader.line().startswith("True")
        writer.go_on()
        assert writer.line() == ""  # it has ended
        assert "cudaerror" in writer.end().lower()
        reader.go_on()
        assert reader.line() == "True"
        reader.go_on()
        assert reader.process.wait(30) == 0
