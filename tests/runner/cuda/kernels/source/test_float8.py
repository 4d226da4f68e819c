"""Codes of float8e4m3fn in C, against ml_dtypes."""

import ctypes
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.device_tensor import from_float8
from benanza_runner.cuda.kernels.source.float8 import CONVERSIONS

CODES = np.arange(256, dtype=np.uint8)
NUMBERS = CODES.view(ml_dtypes.float8_e4m3fn).astype(np.float32)

C = f"""
#include <math.h>
#include <string.h>
#define __device__
#define __forceinline__ static
float __int_as_float(int bits) {{ float v; memcpy(&v, &bits, 4); return v; }}
int __float_as_int(float v) {{ int bits; memcpy(&bits, &v, 4); return bits; }}
{CONVERSIONS}
void numbers(const unsigned char* codes, float* v, int size) {{
  for (int i = 0; i < size; ++i) v[i] = float8_number(codes[i]);
}}
void codes(const float* v, unsigned char* codes, int size) {{
  for (int i = 0; i < size; ++i) codes[i] = float8_code(v[i]);
}}
"""


@pytest.fixture
def library(tmp_path: Path) -> ctypes.CDLL:
    (tmp_path / "float8.c").write_text(C, encoding="utf-8")
    command = ["cc", "-fwrapv", "-shared", "-fPIC", "-o", "float8.so", "float8.c", "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    return ctypes.CDLL(str(tmp_path / "float8.so"))


def converted(function: object, given: Array, dtype: type) -> Array:
    result: Array = np.empty(given.shape, dtype)
    assert callable(function)
    pointers = (ctypes.c_void_p(each.ctypes.data) for each in (given, result))
    function(*pointers, ctypes.c_int(given.size))
    return result


def same_bits(found: Array, expected: Array) -> None:
    """Zeros have a sign, and NaN is NaN."""
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.needs_program("cc")
def test_the_number_of_every_code(library: ctypes.CDLL) -> None:
    same_bits(converted(library.numbers, CODES, np.float32), NUMBERS)


def test_the_number_of_every_code_in_arrays() -> None:
    same_bits(from_float8(CODES), NUMBERS)


@pytest.mark.needs_program("cc")
def test_every_number_has_its_code(library: ctypes.CDLL) -> None:
    np.testing.assert_array_equal(converted(library.codes, NUMBERS, np.uint8), CODES)


@pytest.mark.needs_program("cc")
def test_floats_get_the_nearest_code(library: ctypes.CDLL) -> None:
    """Floats of all sizes, those halfway between two codes, and their neighbours."""
    finite = np.sort(NUMBERS[np.isfinite(NUMBERS)])
    halfway = (finite[1:] + finite[:-1]) / 2
    random = np.random.default_rng(0).integers(0, 2**32, 200_000, np.uint32).view(np.float32)
    near = np.random.default_rng(1).uniform(-450, 450, 100_000).astype(np.float32)
    floats = np.concatenate(
        (halfway, np.nextafter(halfway, np.float32(9e9)), np.nextafter(halfway, -halfway),
         random, near, near / 2**13)
    )  # fmt: skip
    known = ~np.isnan(floats)
    limited = np.clip(floats[known], -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    found = converted(library.codes, floats, np.uint8)
    np.testing.assert_array_equal(found[known], limited)
    assert (found[~known] & 0x7F == 0x7F).all()


@pytest.mark.needs_program("cc")
def test_what_is_too_large_is_the_largest(library: ctypes.CDLL) -> None:
    floats = np.array([np.inf, 1e30, 449, -480, -np.inf], np.float32)
    found = from_float8(converted(library.codes, floats, np.uint8))
    np.testing.assert_array_equal(found, [448, 448, 448, -448, -448])
