"""Running sums by the kernel compiled for this machine's processor."""

from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.kernels.source.running_sum import LOADED, running_sum_source
from tests.runner.cuda.kernels.source.on_the_cpu import aligned, run

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("size", [1, LOADED, 2 * LOADED + 5])
def test_a_thread_adds_up_a_row(exclusive: bool, reverse: bool, size: int, tmp_path: Path) -> None:
    x = np.random.default_rng(size).integers(-9, 9, (3, size, 7)).astype(np.float64)
    expected = np.flip(np.cumsum(np.flip(x, 1), 1), 1) if reverse else np.cumsum(x, 1)
    given, found = aligned(x), aligned(np.full(x.shape, np.nan))
    source = running_sum_source("fp32", "", 1, exclusive=exclusive, reverse=reverse)
    run(source, tmp_path, 21, given, found, 21, size, 7)
    np.testing.assert_array_equal(found, expected - x if exclusive else expected)
