"""Kernels that are right are timed; those that cheat are refused, each with what it did."""

import shutil
import subprocess
from pathlib import Path
from statistics import median

import pytest

from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.submitted.device import ON_CPU, KernelDevice
from benanza_runner.submitted.outcome import KernelLimits, RefusedError, TimedKernel
from benanza_runner.submitted.referee import judged
from benanza_runner.submitted.signature import signature_of
from benanza_schemas.layer import Layer, Operator, Precision, Tensor
from tests.runner.submitted.cheats import CHEATS, HONEST, RIGHT

pytestmark = pytest.mark.integration

MATMUL = Operator("MatMul", "", 13, (), (0, 1), (2,))
RELU = Operator("Relu", "", 14, (), (2,), (3,))
LAYER = Layer(
    tensors=(
        Tensor("float32", (32, 48)),
        Tensor("float32", (48, 40), constant=True),
        Tensor("float32", (32, 40)),
        Tensor("float32", (32, 40)),
    ),
    operators=(MATMUL, RELU),
    outputs=(3,),
)

FEW = ON_CPU._replace(windows=15)
"""Enough where it doesn't matter which windows there are."""


def judge(folder: Path, source: str, precision: Precision = "fp32") -> TimedKernel:
    """What comes of this kernel of Python."""
    kernel = folder / "kernel.py"
    kernel.write_text(source)
    return _judged(kernel, precision)


def _judged(kernel: Path, precision: Precision = "fp32", device: KernelDevice = FEW) -> TimedKernel:
    signature = signature_of(retyped(LAYER, precision))
    limits = KernelLimits(seconds=3.0, memory_bytes=1_500_000_000)
    return judged(LAYER, signature, precision, kernel, 1, device, limits)


def test_a_right_kernel_is_timed(tmp_path: Path) -> None:
    timed = judge(tmp_path, HONEST)
    assert timed.calls > 100
    assert len(timed.samples_us) == 5
    assert all(0 < us < 2_000 for us in timed.samples_us)
    assert not timed.unconfined


def test_what_it_imports_may_do_what_modules_do(tmp_path: Path) -> None:
    imports = """
import concurrent.futures, dataclasses, enum, inspect, typing, unittest.mock
import numpy.testing
@dataclasses.dataclass
class Size: rows: int
class Row(typing.NamedTuple): x: int
class Side(enum.Enum): LEFT = 1
pool = concurrent.futures.ThreadPoolExecutor(1)
"""
    with pytest.raises(RefusedError, match="it wrote nothing to y3"):
        judge(tmp_path, imports + "def run(x, w, y): pass")


@pytest.mark.parametrize(
    "looks",
    [
        "sys._getframe(1)",
        'eval(compile("sys._getframe(1)", enum.__file__, "eval"), vars(enum))',
        "(lambda: sys._getframe(1)).__code__.replace(co_filename=enum.__file__)",
    ],
)
def test_a_kernel_is_no_module_of_python_by_its_name(tmp_path: Path, looks: str) -> None:
    kernel = tmp_path / "enum.py"
    kernel.write_text(f"import enum, sys\n{looks}\ndef run(x, w): return x @ w")
    with pytest.raises(RefusedError, match="looks into the interpreter"):
        _judged(kernel)


def test_what_it_sleeps_counts(tmp_path: Path) -> None:
    source = f"import time\nimport numpy as np\ndef run(x, w): time.sleep(0.003); return {RIGHT}"
    # Of one window others may have taken what is subtracted.
    assert median(judge(tmp_path, source).samples_us) > 2_000


def test_one_that_writes_to_its_destination_may_be_told_of_weights(tmp_path: Path) -> None:
    source = """
import numpy as np
packed = None
def prepare(w):
    global packed
    packed = np.asfortranarray(w)
def run(x, w, y):
    np.maximum(np.matmul(x, packed, out=y), 0, out=y)
"""
    assert judge(tmp_path, source).calls > 100


def test_one_in_half_may_compute_in_half(tmp_path: Path) -> None:
    source = "import numpy as np\ndef run(x, w): return np.maximum(x @ w, np.float16(0))"
    assert judge(tmp_path, source, "fp16").calls > 10


@pytest.mark.parametrize("name", CHEATS)
def test_cheats_are_refused(tmp_path: Path, name: str) -> None:
    source, reason = CHEATS[name]
    kernel = tmp_path / "kernel.py"
    kernel.write_text(source)
    with pytest.raises(RefusedError) as refused:
        _judged(kernel, device=ON_CPU)
    assert any(one in str(refused.value) for one in reason.split(" | "))


def test_nothing_of_a_call_is_of_use_to_the_next(tmp_path: Path) -> None:
    """A kernel that computed anew only what changed would be right, and compute everything."""
    source = f"""
import numpy as np
before = np.zeros((32, 48), np.float32)
def run(x, w, y):
    if (x == before).mean() > 0.01:
        raise ValueError("a part of the input is as it was")
    before[...] = x
    y[...] = {RIGHT}
"""
    assert judge(tmp_path, source).calls > 100


C_KERNEL = """
void run(const float *x, const float *w, float *y) {
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 40; j++) {
            float sum = 0;
            for (int k = 0; k < 48; k++) sum += x[i * 48 + k] * w[k * 40 + j];
            y[i * 40 + j] = sum > 0 ? sum : 0;
        }
}
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no compiler of C")
def test_a_shared_library_is_timed_and_one_that_writes_to_inputs_refused(tmp_path: Path) -> None:
    def library(source: str) -> Path:
        path = tmp_path / "kernel.so"
        command = ["cc", "-O2", "-shared", "-fPIC", "-xc", "-", "-o", str(path)]
        subprocess.run(command, input=source.encode(), check=True)
        return path

    assert _judged(library(C_KERNEL)).calls > 100
    cheat = C_KERNEL.replace("sum > 0", "((float *)x)[i] = 0, sum > 0")
    with pytest.raises(RefusedError, match="it wrote to its input x0"):
        _judged(library(cheat))
