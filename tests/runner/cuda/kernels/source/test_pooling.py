"""Poolings compute what NumPy does, in either layout and at every width."""

from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.kernels.source.pooling import PoolingWindow, source
from tests.runner.cuda.kernels.source.on_the_cpu import aligned, run

pytestmark = pytest.mark.integration

ALL = slice(None)

POOLINGS = {
    # Mode, input, output, and the window: sizes, strides, dilations, pads before.
    "max": ("max", (2, 8, 1, 14, 14), (1, 6, 6), ((1, 3, 3), (1, 2, 2), (1, 1, 1), (0, 0, 0))),
    "same": ("average", (1, 8, 1, 9, 9), (1, 9, 9), ((1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 1, 1))),
    "padded": (
        "average_padded",
        (2, 4, 1, 9, 9),
        (1, 5, 9),
        ((1, 3, 2), (1, 2, 1), (1, 1, 2), (0, 1, 1)),
    ),
    "deep": ("max", (1, 4, 5, 6, 7), (4, 3, 7), ((2, 3, 3), (1, 2, 1), (1, 1, 1), (0, 1, 1))),
    "large": (
        "average",
        (1, 8, 1, 13, 13),
        (1, 1, 1),
        ((1, 13, 13), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
    ),
}


def pooled(mode: str, x: Array, space: tuple[int, ...], window: PoolingWindow) -> Array:
    """By its definition."""
    result = np.zeros((*x.shape[:2], *space))
    for place in product(*map(range, space)):
        seen = []
        for step in product(*map(range, window.sizes)):
            at = [
                place[axis] * window.strides[axis]
                - window.pads[axis]
                + step[axis] * window.dilations[axis]
                for axis in range(3)
            ]
            if all(0 <= n < size for n, size in zip(at, x.shape[2:], strict=True)):
                seen.append(x[ALL, ALL, at[0], at[1], at[2]])
        count = prod(window.sizes) if mode == "average_padded" else len(seen)
        found = np.max(seen, axis=0) if mode == "max" else np.sum(seen, axis=0) / count
        result[ALL, ALL, place[0], place[1], place[2]] = found
    return result


@pytest.mark.parametrize("name", list(POOLINGS))
@pytest.mark.parametrize(("first", "width"), [(True, 1), (False, 1), (False, 2), (False, 4)])
def test_windows_are_pooled(name: str, first: bool, width: int, tmp_path: Path) -> None:
    mode, shape, space, numbers = POOLINGS[name]
    window = PoolingWindow(*numbers)
    x = np.random.default_rng(5).standard_normal(shape, np.float32)
    order = (0, 1, 2, 3, 4) if first else (0, 2, 3, 4, 1)
    output = (*shape[:2], *space)
    result = aligned(np.full([output[axis] for axis in order], np.nan))
    run(
        source("fp32", mode, first, window, 1, width),
        tmp_path,
        prod(output) // width,
        aligned(x.transpose(order)),
        result,
        prod(output),
        *shape[1:],
        *space,
    )
    found = result.transpose(np.argsort(order))
    np.testing.assert_allclose(found, pooled(mode, x, space, window), 1e-5, 1e-6)
