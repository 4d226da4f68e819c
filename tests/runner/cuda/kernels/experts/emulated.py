"""The kernels of mixtures of experts, compiled for this machine's processor."""

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np

from benanza_runner.cuda.kernels.experts.steps import ExpertStep
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.kernels.source.tensor_cores import instructions
from benanza_schemas.layer import Precision
from tests.runner.cuda.kernels.source.coroutines import (
    COROUTINES,
    HALVES,
    NUMBERS,
    RUNNING,
    compiled,
)

_FLOATS = """
typedef float T;
static float load(T v) { return v; }
static T store(float v) { return v; }
"""

_START = """
alignas(64) uint4 memory[SHARED / 16 + 1];
static void** given;
static void call() { KERNEL(ARGUMENTS); }
static void run_blocks(int across, int down);
extern "C" void start(void** arguments, int across, int down) {
  given = arguments;
  run_blocks(across, down);
}
"""


def run(step: ExpertStep, arguments: tuple[Any, ...], precision: Precision, folder: Path) -> None:
    """Runs all blocks of a step's kernel on arrays, addresses and integers."""
    source = step.source
    for part in (PREAMBLE[precision], instructions(precision) if precision in _HALF else ""):
        source = source.replace(part, "") if part else source
    for mark, instead in (
        ("extern __shared__", "extern"),
        ("__shared__", "static"),
        ("#pragma unroll", "//"),
    ):
        source = source.replace(mark, instead)
    found = re.search(rf"{step.name}\(([^)]*)\)", source)
    assert found, f"there is a kernel {step.name}"
    parameters = [each.rpartition(" ")[0] for each in found[1].replace("\n", " ").split(", ")]
    defined = {
        "HALF": _HALF.get(precision, 0),
        "MANY": step.threads,
        "MOST_COPIES": 1 << 10,
        "SHARED": step.shared,
        "KERNEL": step.name,
        "ARGUMENTS": ", ".join(
            f"({kind})given[{place}]" if "*" in kind else f"*(int*)given[{place}]"
            for place, kind in enumerate(parameters)
        ),
    }
    head = "".join(f"#define {name} {value}\n" for name, value in defined.items())
    floats = HALVES if precision in _HALF else _FLOATS
    whole = "".join((head, COROUTINES, NUMBERS, floats, source, _START, RUNNING))
    kept = [each for each in arguments if isinstance(each, np.ndarray)]
    numbers = [ctypes.c_int(int(each)) for each in arguments if isinstance(each, np.int32)]
    pointers = [
        each.ctypes.data if isinstance(each, np.ndarray) else int(each)
        for each in arguments
        if not isinstance(each, np.int32)
    ] + [ctypes.addressof(each) for each in numbers]
    assert len(pointers) == len(parameters), "numbers are the last"
    started = compiled(whole, folder, late=True).start
    started((ctypes.c_void_p * len(pointers))(*pointers), *map(ctypes.c_int, step.grid))
    del kept


_HALF: dict[Precision, int] = {"fp16": 1, "bf16": 0}
