"""A copy in which another axis becomes the fastest one, through shared memory.

A copy that writes row by row would fetch each element alone. This one reads and writes tiles by
rows. Ruetsch and Micikevicius, "Optimizing Matrix Transpose in CUDA", 2009.
"""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from benanza_runner.cuda.kernels.launching import WORDS

NAME = "tiled"
THREADS = 256
BANK_BYTES = 4
"""The width of a bank of shared memory. The rows of a tile begin in different banks."""


class TiledCopy(NamedTuple):
    """A kernel in so many blocks of `THREADS` threads.

    Its arguments are the arrays that it reads and writes, and then these `numbers`.
    """

    source: str
    blocks: int
    numbers: tuple[Any, ...]


def tiled_copy(first: int, axes: Sequence[tuple[int, int]], size: int) -> TiledCopy | None:
    """What copies to consecutive elements of so many bytes those that are at `first` and, from
    there, along axes of these lengths and strides in elements.

    None unless an axis that isn't the last one has the stride 1.
    """
    row = next((axis for axis, (_, step) in enumerate(axes[:-1]) if step == 1), None)
    if row is None:
        return None
    to = [prod(length for length, _ in axes[axis + 1 :]) for axis in range(len(axes))]
    outer = [axis for axis in range(len(axes) - 1) if axis != row]
    (rows, _), (columns, column_from) = axes[row], axes[-1]
    lengths = [axes[axis][0] for axis in outer]
    tile = _tile(size)
    numbers = (
        np.int64(first),
        np.uint32(rows),
        np.uint32(columns),
        np.int64(to[row]),
        np.int64(column_from),
        *map(np.uint32, lengths),
        *(np.int64(axes[axis][1]) for axis in outer),
        *(np.int64(to[axis]) for axis in outer),
    )
    blocks = -(-rows // tile) * -(-columns // tile) * prod(lengths)
    return TiledCopy(_source(len(outer), size), blocks, numbers)


def _tile(size: int) -> int:
    """Rows and columns of a tile."""
    return 64 if size <= 2 else 32


def _source(rank: int, size: int) -> str:
    """The kernel with so many axes around the two of a tile."""
    lengths = "".join(f", unsigned n{axis}" for axis in range(rank))
    froms = "".join(f", long long s{axis}" for axis in range(rank))
    tos = "".join(f", long long t{axis}" for axis in range(rank))
    walk = "\n  ".join(
        f"from += rest % n{axis} * s{axis}; to += rest % n{axis} * t{axis}; rest /= n{axis};"
        for axis in reversed(range(rank))
    )
    word = WORDS[size]
    return f"""
#define TILE {_tile(size)}
extern "C" __global__ void {NAME}(const {word}* __restrict__ p, {word}* __restrict__ q,
    long long first, unsigned rows, unsigned columns, long long row_to,
    long long column_from{lengths}{froms}{tos}) {{
  __shared__ {word} tile[TILE][TILE + {max(1, BANK_BYTES // size)}];
  const unsigned across = (columns + TILE - 1) / TILE, down = (rows + TILE - 1) / TILE;
  unsigned rest = blockIdx.x;
  const unsigned left = rest % across * TILE;
  rest /= across;
  const unsigned top = rest % down * TILE;
  rest /= down;
  long long from = first, to = 0;
  {walk}
  const unsigned x = threadIdx.x % 32, y = threadIdx.x / 32;
  #pragma unroll
  for (unsigned i = y; i < TILE; i += {THREADS // 32})
    for (unsigned j = x; j < TILE; j += 32)
      if (left + i < columns && top + j < rows)
        tile[i][j] = p[from + (left + i) * column_from + top + j];
  __syncthreads();
  #pragma unroll
  for (unsigned i = y; i < TILE; i += {THREADS // 32})
    for (unsigned j = x; j < TILE; j += 32)
      if (top + i < rows && left + j < columns)
        q[to + (top + i) * row_to + left + j] = tile[j][i];
}}
"""
