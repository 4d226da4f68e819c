"""Kernels on a GPU: those that are right are timed, and those that cheat refused."""

import shutil
import subprocess
from pathlib import Path
from statistics import median

import pytest

from benanza_runner.cuda.available import why_unavailable
from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.submitted.device import ON_GPU
from benanza_runner.submitted.outcome import RefusedError, TimedKernel
from benanza_runner.submitted.referee import judged
from benanza_runner.submitted.signature import signature_of
from benanza_schemas.layer import Layer, Operator, Precision, Tensor

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(why := why_unavailable()), reason=f"the runtime cuda {why}"),
]

LAYER = Layer(
    tensors=(
        Tensor("float32", (64, 512)),
        Tensor("float32", (64, 512)),
        Tensor("float32", (64, 512)),
    ),
    operators=(Operator("Mul", "", 14, (), (0, 1), (2,)),),
    outputs=(2,),
)

KERNEL = '''
import cupy as cp
kernel = cp.RawKernel("""
extern "C" __global__ void multiply(const float *a, const float *b, float *y) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = a[i] * b[i];
}
""", "multiply")
def right(a, b, y): kernel((128,), (256,), (a, b, y))
'''

CHEATS = {
    "keeps results": (
        """
kept = []
def run(a, b, y):
    if not kept:
        kept.append(cp.zeros_like(y))
        right(a, b, kept[0])
    cp.copyto(y, kept[0])
""",
        "y2 is a wrong result",
    ),
    "works on another stream": (
        """
other = cp.cuda.Stream(non_blocking=True)
def run(a, b, y):
    with other: right(a, b, y)
""",
        "it starts nothing on the current stream",
    ),
    "works in every other call": (
        """
turn = cp.zeros(1, cp.uint32)
half = cp.RawKernel('''
extern "C" __global__ void half(const float *a, const float *b, float *y, const unsigned *turn) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (*turn & 1) y[i] = a[i] * b[i];
}
''', "half")
count = cp.RawKernel('extern "C" __global__ void count(unsigned *turn) { ++*turn; }', "count")
def run(a, b, y):
    half((128,), (256,), (a, b, y, turn))
    count((1,), (1,), (turn,))
""",
        "it wrote nothing to y2 | y2 is a wrong result",
    ),
    "rounds to halves": (
        """
def run(a, b, y):
    y[...] = (a.astype(cp.float16) * b.astype(cp.float16)).astype(cp.float32)
""",
        "y2 is a wrong result",
    ),
    "writes to inputs": (
        "def run(a, b, y): right(a, b, y); a[0, 0] = 1",
        "it wrote to its input x0",
    ),
    "returns an input": ("def run(a, b): return a", "it returns the memory of an input"),
    "runs on the host while it is timed": (
        """
def run(a, b, y):
    right(a, b, y)
    cp.cuda.get_current_stream().launch_host_func(print, 1)
""",
        "its CUDA graph has nodes of the kind host",
    ),
    "waits for the device": (
        "def run(a, b, y): right(a, b, y); cp.cuda.get_current_stream().synchronize()",
        "StreamCapture",
    ),
    "takes over the launch": (
        """
from cuda.bindings import driver
driver.cuGraphLaunch = lambda *_: (driver.CUresult.CUDA_SUCCESS,)
run = right
""",
        "it replaced cuda.bindings.driver.cuGraphLaunch",
    ),
    "takes over the wait": (
        "cp.cuda.runtime.deviceSynchronize = lambda: None\nrun = right",
        "runtime.deviceSynchronize",
    ),
    "leaves a thread when it is captured": (
        """
import threading, time
loaded = []
def run(a, b, y):
    right(a, b, y)
    if loaded:
        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
    loaded.append(1)
""",
        "it starts a thread while it is captured",
    ),
    "writes a file": (
        "open('/var/tmp/kept', 'w').write('x')\nrun = right",
        "Permission denied",
    ),
    "asks the network past Python": (
        """
import ctypes
if ctypes.CDLL(None).socket(2, 1, 0) < 0: raise OSError("there is no network")
run = right
""",
        "there is no network",
    ),
    "starts a program when it runs": (
        """
import ctypes
calls = []
def run(a, b, y):
    right(a, b, y)
    calls.append(1)
    if len(calls) > 1:
        raise OSError("none starts" if ctypes.CDLL(None).system(b"true") else "it started")
""",
        "none starts",
    ),
    "reads where nothing is": (
        """
broken = cp.RawKernel(
    'extern "C" __global__ void broken(float *y) { *(volatile int *)0x10 = 1; }', "broken"
)
def run(a, b, y): broken((1,), (1,), (y,))
""",
        "illegal memory access",
    ),
}

LIBRARY = """
__global__ void multiply(const float *a, const float *b, float *y) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = a[i] * b[i];
}
extern "C" void run(const float *a, const float *b, float *y, void *stream) {
    multiply<<<128, 256, 0, (cudaStream_t)stream>>>(a, b, y);
}
"""

TRITON = """
import torch, triton, triton.language as tl
@triton.jit
def multiply(a, b, y):
    at = tl.program_id(0) * 256 + tl.arange(0, 256)
    tl.store(y + at, tl.load(a + at) * tl.load(b + at))
def run(a, b, y):
    multiply[(128,)](*[torch.as_tensor(each, device="cuda") for each in (a, b, y)])
"""


def judge(kernel: Path, precision: Precision = "fp32") -> TimedKernel:
    return judged(LAYER, signature_of(retyped(LAYER, precision)), precision, kernel, 1, ON_GPU)


def written(folder: Path, source: str) -> Path:
    path = folder / "kernel.py"
    path.write_text(KERNEL + source)
    return path


def check(timed: TimedKernel) -> None:
    """It took as long as such a small kernel may, and could reach nothing."""
    assert timed.calls > 1_000
    assert 0.3 < median(timed.samples_us) < 20
    assert not timed.unconfined


@pytest.mark.parametrize("source", ["run = right", "def run(a, b): return a * b"])
def test_a_right_kernel_is_timed(tmp_path: Path, source: str) -> None:
    check(judge(written(tmp_path, source)))


def test_a_kernel_of_triton_is_timed(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    check(judge(written(tmp_path, TRITON)))


@pytest.mark.skipif(not shutil.which("nvcc"), reason="there is no compiler of CUDA C++")
def test_a_shared_library_is_timed(tmp_path: Path) -> None:
    source, library = tmp_path / "kernel.cu", tmp_path / "kernel.so"
    source.write_text(LIBRARY)
    options = ("-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC")
    subprocess.run(["nvcc", *options, str(source), "-o", str(library)], check=True)
    check(judge(library))


@pytest.mark.parametrize("name", CHEATS)
def test_cheats_are_refused(tmp_path: Path, name: str) -> None:
    source, reason = CHEATS[name]
    with pytest.raises(RefusedError) as refused:
        judge(written(tmp_path, source))
    assert any(one in str(refused.value) for one in reason.split(" | "))
