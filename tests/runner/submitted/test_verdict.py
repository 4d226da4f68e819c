"""Right results, and wrong ones."""

import numpy as np
import pytest

from benanza_runner.submitted.signature import KernelOperand
from benanza_runner.submitted.verdict import poison, why_written, why_wrong

Y = KernelOperand("y1", "float32", (100,), 1)
WANTED = np.linspace(-1, 1, 100, dtype=np.float32)


@pytest.mark.parametrize(
    ("factor", "reason"),
    [
        (1.00001, ""),
        (1.001, "y1 is a wrong result: it is off by 0.001 of its norm"),
        (np.nan, "y1 is a wrong result: it is off by nan"),
        (np.inf, "y1 is a wrong result: it is off by inf"),
    ],
)
def test_a_result_is_right_up_to_the_tolerance(factor: float, reason: str) -> None:
    with np.errstate(invalid="ignore"):
        found = why_wrong([Y], [WANTED * np.float32(factor)], [WANTED], "fp32")
    assert found.startswith(reason) if reason else not found


def test_one_wrong_element_is_seen() -> None:
    output = WANTED.copy()
    output[7] = 0
    assert why_wrong([Y], [output], [WANTED], "fp32")


def test_halves_are_wrong_in_fp32_and_right_in_fp16() -> None:
    rounded = WANTED.astype(np.float16)
    assert why_wrong([Y], [rounded.astype(np.float32)], [WANTED], "fp32")
    half = KernelOperand("y1", "float16", (100,), 1)
    assert not why_wrong([half], [rounded], [WANTED], "fp16")


def test_what_was_not_written_says_so() -> None:
    output = WANTED.copy()
    poison(output)
    assert why_wrong([Y], [output], [WANTED], "fp32") == "it wrote nothing to y1"


def test_an_input_that_was_written_to_is_named() -> None:
    changed = WANTED.copy()
    changed[3] += 1
    assert why_written([Y], [WANTED], [WANTED.copy()]) == ""
    assert why_written([Y], [WANTED], [changed]) == "it wrote to its input y1"
