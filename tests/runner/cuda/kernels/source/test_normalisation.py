"""Normalisation over neighbouring channels computes what NumPy does, in either layout."""

from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.kernels.source.normalisation import source
from tests.runner.cuda.kernels.source.on_the_cpu import aligned, run

pytestmark = pytest.mark.integration

SHAPE = (2, 16, 3, 4)


@pytest.mark.parametrize(("first", "width"), [(True, 1), (True, 4), (False, 1), (False, 4)])
@pytest.mark.parametrize("size", [1, 2, 5, 8])
@pytest.mark.parametrize("beta", [0.75, 0.5])
def test_sums_of_squares_of_neighbours(
    first: bool, width: int, size: int, beta: float, tmp_path: Path
) -> None:
    x = np.random.default_rng(3).standard_normal(SHAPE, np.float32)
    before, after = (size - 1) // 2, size // 2
    squares = np.pad(x.astype(np.float64) ** 2, ((0, 0), (before, after), (0, 0), (0, 0)))
    sums = sum(squares[:, at : at + SHAPE[1]] for at in range(size))
    expected = x * (2 + 0.5 / size * sums) ** -beta
    order = (0, 1, 2, 3) if first else (0, 2, 3, 1)
    result = aligned(np.full([SHAPE[axis] for axis in order], np.nan))
    run(
        source("fp32", size, beta, width, along=width > 1 and not first),
        tmp_path,
        x.size // width,
        aligned(x.transpose(order)),
        result,
        x.size,
        SHAPE[1],
        SHAPE[2] * SHAPE[3] if first else 1,
        0.5 / size,
        -beta,
        2.0,
    )
    np.testing.assert_allclose(result.transpose(np.argsort(order)), expected, 1e-5, 1e-6)
