"""The worker of kernels for GPUs and the referee understand each other, over a pretended CuPy whose
kernels are Python.
"""

import re
from pathlib import Path

import pytest

from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.submitted.device import ON_GPU
from benanza_runner.submitted.outcome import RefusedError, TimedKernel
from benanza_runner.submitted.referee import judged
from benanza_runner.submitted.signature import signature_of
from tests.runner.submitted.test_referee import LAYER

pytestmark = pytest.mark.integration

PRETENDED = Path(__file__).parent / "pretended"

KERNEL = '''
import cupy
# Often enough to take longer than the changes of its inputs, which are Python, too.
source = """def k(x, w, y):
    for _ in range(20):
        y[...] = np.maximum(x @ w, 0)"""
kernel = cupy.RawKernel(source, "k")
def right(x, w, y): kernel((1,), (1,), (x, w, y))
'''

FEW = ON_GPU._replace(windows=5, window_s=0.002)


def judge(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> TimedKernel:
    monkeypatch.syspath_prepend(str(PRETENDED))
    kernel = folder / "kernel.py"
    kernel.write_text(KERNEL + source)
    signature = signature_of(retyped(LAYER, "fp32"))
    return judged(LAYER, signature, "fp32", kernel, 1, FEW)


def test_a_right_kernel_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timed = judge(tmp_path, monkeypatch, "run = right")
    assert timed.calls > 5
    assert not timed.unconfined


@pytest.mark.parametrize(
    "name", ["cuda.bindings.driver.cuGraphLaunch", "cupy.cuda.runtime.deviceSynchronize"]
)
def test_one_that_takes_over_the_launch_or_its_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    source = f"from cuda.bindings import driver\nimport cuda\n{name} = lambda *_: (0,)\nrun = right"
    with pytest.raises(RefusedError, match=f"it replaced {re.escape(name)}"):
        judge(tmp_path, monkeypatch, source)


def test_one_that_leaves_a_thread_when_it_is_captured_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
import threading, time
loaded = []
def run(x, w, y):
    right(x, w, y)
    if loaded:
        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
    loaded.append(1)
"""
    with pytest.raises(RefusedError, match="it starts a thread while it is captured"):
        judge(tmp_path, monkeypatch, source)
