"""Whether what a submitted kernel left behind is right."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.measuring.error import wrong
from benanza_runner.submitted.signature import KernelOperand
from benanza_schemas.element_types import FLOATS, PRECISIONS
from benanza_schemas.layer import Precision

POISON = 0xFF
"""The byte that outputs are filled with before a kernel runs: floats are no numbers then."""


def poison(array: Array) -> None:
    """Makes an output hold nothing that could be right by chance."""
    array.reshape(-1).view(np.uint8)[:] = POISON


def why_wrong(
    operands: Sequence[KernelOperand],
    outputs: Sequence[Array],
    expected: Sequence[Array],
    precision: Precision,
) -> str:
    """Why these outputs are wrong, naming the first that is; empty if all are right."""
    for operand, output, wanted in zip(operands, outputs, expected, strict=True):
        if _all_poison(output):
            return f"it wrote nothing to {operand.name}"
        most = _tolerance(operand.dtype, precision)
        if reason := wrong(relative_error(output, wanted), most):
            return f"{operand.name} is a {reason}"
    return ""


def relative_error(output: Array, expected: Array) -> float:
    """‖output − expected‖ / ‖expected‖, infinite or no number if `output` has such elements."""
    wanted = _numbers(expected)
    size = float(np.linalg.norm(wanted))
    difference = float(np.linalg.norm(_numbers(output) - wanted))
    return difference / max(size, float(np.finfo(np.float32).tiny))


def why_written(
    operands: Sequence[KernelOperand], before: Sequence[Array], now: Sequence[Array]
) -> str:
    """Which input was written to, empty if none was."""
    for operand, kept, array in zip(operands, before, now, strict=True):
        if kept.tobytes() != array.tobytes():
            return f"it wrote to its input {operand.name}"
    return ""


def _tolerance(dtype: str, precision: Precision) -> float:
    return PRECISIONS[precision if dtype in FLOATS else "fp32"].tolerance


def _all_poison(output: Array) -> bool:
    raw = output.reshape(-1).view(np.uint8)
    # A single byte may well be 255.
    return raw.size > 1 and output.dtype.kind not in "bui" and bool((raw == POISON).all())


def _numbers(array: Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    return array.reshape(-1).astype(np.float64)
