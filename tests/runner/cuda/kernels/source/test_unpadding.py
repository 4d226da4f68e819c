"""Rows that were padded lie one right after the other, whatever their length."""

from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.kernels.source.unpadding import unpadding_source
from tests.runner.cuda.kernels.source.on_the_cpu import aligned, run

pytestmark = pytest.mark.integration

CUDA = """
struct uint4 { unsigned x, y, z, w; };
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return ((unsigned long long)high << 32 | low) >> by;
}
"""

WORDS = {"uint16": "unsigned short", "uint32": "unsigned"}


@pytest.mark.parametrize("rows", [1, 9])
@pytest.mark.parametrize("dtype", WORDS)
@pytest.mark.parametrize("length", [1, 3, 7, 9, 12, 15, 33, 41, 65])
def test_rows_are_moved_together(length: int, dtype: str, rows: int, tmp_path: Path) -> None:
    pack = 16 // np.dtype(dtype).itemsize
    padded = -(-length // pack) * pack
    source = aligned(np.zeros(rows * padded, np.float32))
    target = aligned(np.full(rows * length + pack, 1.0, np.float32))
    lying = source.view(dtype)[: rows * padded].reshape(rows, padded)
    lying[:] = np.arange(1, rows * padded + 1).reshape(rows, padded)
    found = target.view(dtype)
    beyond = found[rows * length :].copy()
    total = rows * length
    text = CUDA + unpadding_source(WORDS[dtype], pack)
    run(text, tmp_path, -(-total // pack), source, target, total, length, padded)
    np.testing.assert_array_equal(found[:total].reshape(rows, length), lying[:, :length])
    np.testing.assert_array_equal(found[total:], beyond)
