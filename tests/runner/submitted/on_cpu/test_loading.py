"""A file as a kernel, and what keeps it from being one."""

from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.submitted.on_cpu.loading import empty_call, load
from benanza_runner.submitted.working.sources import KernelError

X, W = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((3, 2), np.float32)


def loaded(folder: Path, source: str) -> Array:
    """What a module of this source computes."""
    path = folder / "kernel.py"
    path.write_text("import numpy as np\n" + source)
    output = np.zeros((2, 2), np.float32)
    kernel = load(path, [X, W], [W], [output])
    kernel.prepare()
    kernel.call()
    return output


@pytest.mark.parametrize(
    "source",
    [
        "def run(x, w): return x @ w",
        "def run(x, w, y): np.matmul(x, w, out=y)",
        "def run(x, w, part=2): return [x @ w]",
        "def prepare(w):\n global k\n k = w.copy()\ndef run(x, w): return x @ k",
    ],
)
def test_it_returns_its_results_or_writes_them(tmp_path: Path, source: str) -> None:
    assert (loaded(tmp_path, source) == X @ W).all()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "it has no function `run`"),
        ("def run(x): pass", "its `run` takes 1 arrays"),
        ("def run(*arrays): pass", "its `run` takes any number of arrays"),
        ("def run(x, w): return (x @ w).ravel()", "it returns float32 of shape \\(4,\\) where"),
        ("def run(x, w): return (x @ w).astype('f8')", "it returns float64"),
        ("def run(x, w): return None", "it returns a NoneType, which is no array"),
        ("def run(x, w): return x, w", "it returns 2 arrays"),
        ("class A(np.ndarray): ...\ndef run(x, w): return (x @ w).view(A)", "it returns a A"),
    ],
)
def test_what_is_no_kernel_says_why(tmp_path: Path, source: str, reason: str) -> None:
    with pytest.raises(KernelError, match=reason):
        loaded(tmp_path, source)


def test_inputs_can_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        loaded(tmp_path, "def run(x, w):\n x[0] = 1\n return x @ w")


@pytest.mark.parametrize("library", [True, False])
def test_a_call_that_does_nothing_changes_nothing(library: bool) -> None:
    output = np.zeros((2, 2), np.float32)
    empty_call([X, W], [output], library=library)()
    assert not output.any()
