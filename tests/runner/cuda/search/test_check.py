"""How far results may be from those expected."""

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.search.check import ROUNDED_TO_FLOAT8, SUMMED_FLOAT8

NUMBERS = (31 * np.random.default_rng(0).standard_normal(100_000)).astype(np.float32)


def rounded(numbers: Array) -> Array:
    return numbers.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)


def error(result: Array, expected: Array) -> float:
    return float(np.linalg.norm(result - expected) / np.linalg.norm(expected))


def towards_zero(numbers: Array) -> Array:
    codes = numbers.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    larger = np.abs(rounded(numbers)) > np.abs(numbers)
    return np.asarray((codes - larger).view(ml_dtypes.float8_e4m3fn).astype(np.float32))


def from_bfloat16(numbers: Array) -> Array:
    return rounded(numbers.astype(ml_dtypes.bfloat16).astype(np.float32))


def from_sums_a_little_off(numbers: Array) -> Array:
    noise = np.random.default_rng(1).standard_normal(numbers.shape).astype(np.float32)
    return rounded(numbers * (1 + 0.01 * noise))


@pytest.mark.parametrize(
    ("wrongly", "passes"),
    [(towards_zero, False), (from_bfloat16, True), (from_sums_a_little_off, True)],
)
def test_float8_that_were_rounded_otherwise(
    wrongly: Callable[[Array], Array], passes: bool
) -> None:
    assert (error(wrongly(NUMBERS), rounded(NUMBERS)) < ROUNDED_TO_FLOAT8) == passes


def test_floats_that_were_rounded_to_float8_are_wrong() -> None:
    assert error(rounded(NUMBERS), NUMBERS) > SUMMED_FLOAT8
