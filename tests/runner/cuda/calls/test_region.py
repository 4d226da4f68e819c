"""Quotients have to be exact where the last place of one decides."""

import pytest

from benanza_runner.cuda.calls import Call, Elementwise, Operand, Resizing
from benanza_runner.cuda.lowering.regions.as_region import as_region

SHAPE = (1, 2, 4, 4)


def elementwise(result: str, element: str = "", read: str = "") -> Elementwise:
    operand = Operand(SHAPE, (1, 2, 3), read)
    return Elementwise(SHAPE, (operand,), ("const float t0 = in0 / 3.0f;",), result, element)


@pytest.mark.parametrize(
    ("call", "rounds"),
    [
        (elementwise("rintf(t0)"), True),
        (elementwise("floorf(t0) * 2.0f"), True),
        (elementwise("t0 > 1.0f", "bool"), True),
        (elementwise("float8_number(float8_code(t0))"), True),
        (elementwise("(long long)t0", "int64"), True),
        (elementwise("expf(t0)"), False),
        (elementwise("in0 + 1", "int64", "int64"), False),
        # Of places alone, which are the same in each element.
        (
            Resizing(SHAPE, (1, 2, 7, 7), (1, 1, 1.75, 1.75), "linear", "half_pixel", ""),
            False,
        ),
    ],
)
def test_floats_are_rounded_or_compared(call: Call, rounds: bool) -> None:
    region = as_region(call, {})
    assert region is not None
    assert region.rounds is rounds
