"""Element-wise kernels read operands of every shape, at every width and in every layout."""

from math import prod
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.calls import Elementwise, Operand, Shape
from benanza_runner.cuda.kernels.source.elementwise import (
    ALIKE,
    ALONG,
    NEAR,
    REPEATED,
    STRIDED,
    WHOLE,
    by_thread,
    reading,
    source,
)
from tests.runner.cuda.kernels.source.on_the_cpu import aligned, run

pytestmark = pytest.mark.integration

OUTPUTS = [(2, 8, 4, 6), (1, 6, 5, 8), (2, 16, 1, 1), (3, 12, 64)]
WIDTHS = [1, 2, 4]


def call_with(output: Shape, shapes: list[Shape]) -> Elementwise:
    """The sum of operands of these shapes, each times a number of its own."""
    operands = []
    for shape in shapes:
        full = (1,) * (len(output) - len(shape)) + shape
        operands.append(Operand(shape, tuple(a for a, size in enumerate(full) if size != 1)))
    terms = " + ".join(f"in{at} * {at + 1}.0f" for at in range(len(shapes)))
    return Elementwise(output, tuple(operands), (f"float t0 = {terms};",), "t0")


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("channels_first", [True, False])
@pytest.mark.parametrize("width", WIDTHS)
def test_operands_of_every_shape(
    output: Shape, channels_first: bool, width: int, tmp_path: Path
) -> None:
    rank, channels = len(output), output[1]
    order = tuple(range(rank)) if channels_first else (0, *range(2, rank), 1)
    ones = (1,) * (rank - 2)
    apart = (output[0], 1, *output[2:])
    shapes = [output, (channels, *ones), output[-1:], (1,), apart, (channels, *output[2:])]
    shapes.append((output[0], channels, *ones))
    call = call_with(output, shapes)
    kinds, numbers, axes = reading(call, order)
    random = np.random.default_rng(7)
    given = [random.standard_normal(shape, np.float32) for shape in shapes]
    laid = [
        aligned(each.reshape((1,) * (rank - each.ndim) + each.shape).transpose(order))
        for each in given
    ]
    result = aligned(np.full([output[axis] for axis in order], np.nan))
    packs = prod(output) // width
    written = call.statements, call.result, call.element
    types = ("",) * len(shapes)
    text = source(written, by_thread(call, kinds, order, width), types, "fp32", width, axes)
    run(text, tmp_path, packs, *laid, result, packs, *numbers)
    expected = sum((at + 1) * each for at, each in enumerate(given)) + np.zeros(output)
    np.testing.assert_allclose(result.transpose(np.argsort(order)), expected, 1e-5, 1e-5)


def test_what_elements_of_a_thread_share_is_known() -> None:
    call = call_with((2, 8, 4, 6), [(2, 8, 4, 6), (8, 1, 1), (6,), (1,), (2, 1, 4, 6)])
    first, last = (0, 1, 2, 3), (0, 2, 3, 1)
    kinds = reading(call, first).kinds
    assert kinds == WHOLE + REPEATED * 3 + STRIDED
    assert by_thread(call, kinds, first, 1) == kinds
    assert by_thread(call, kinds, first, 2) == WHOLE + ALIKE + ALONG + ALIKE + NEAR
    assert by_thread(call, kinds, first, 4) == WHOLE + ALIKE + REPEATED + ALIKE + NEAR
    kinds = reading(call, last).kinds
    assert kinds == WHOLE + REPEATED * 4
    assert by_thread(call, kinds, last, 4) == WHOLE + ALONG + ALIKE * 3


def test_what_is_scaled_by_channel_and_image_is_read_at_once() -> None:
    """Squeeze-and-excite, with the channels last."""
    call = call_with((2, 8, 4, 6), [(2, 8, 4, 6), (2, 8, 1, 1), (8, 1, 6), (1, 1, 4, 1)])
    last = (0, 2, 3, 1)
    kinds = reading(call, last).kinds
    assert kinds == WHOLE + STRIDED + REPEATED * 2
    assert by_thread(call, kinds, last, 8) == WHOLE + NEAR + ALONG + ALIKE
    assert by_thread(call, kinds, last, 16) == WHOLE + STRIDED + ALONG + ALIKE
    call = call_with((2, 8, 4, 6), [(2, 8, 1, 1), (2, 1, 4, 6)])
    kinds = reading(call, last).kinds
    assert by_thread(call, kinds, last, 4) == NEAR + ALIKE
