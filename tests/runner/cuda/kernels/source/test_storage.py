"""What kernels of 16 bits compute in their own way."""

import ctypes
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.kernels.source.storage import PREAMBLE


@pytest.mark.needs_program("cc")
def test_the_error_function_is_right_far_beyond_sixteen_bits(tmp_path: Path) -> None:
    _, _, function = PREAMBLE["fp16"].partition("__device__ __forceinline__ float erf_of")
    text = f"""
#include <math.h>
#define __fdividef(a, b) ((a) / (b))
float erf_of{function}
"""
    (tmp_path / "erf.c").write_text(text, encoding="utf-8")
    command = ["cc", "-shared", "-fPIC", "-o", "erf.so", "erf.c", "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    erf_of = ctypes.CDLL(str(tmp_path / "erf.so")).erf_of
    erf_of.restype, erf_of.argtypes = ctypes.c_float, [ctypes.c_float]
    for number in (*np.linspace(-6, 6, 10_001), -1e30, 1e30, math.inf, -math.inf):
        assert erf_of(number) == pytest.approx(math.erf(number), abs=2e-6)
