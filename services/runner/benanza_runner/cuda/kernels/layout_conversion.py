"""Feature maps converted from one layout into the other: a kernel that goes through shared memory.

The axes of space are one here, so a feature map is a matrix for each sample: channels by pixels, or
pixels by channels.
"""

from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.layouts import Order

TILE = 32
ROWS = 8


def same_memory(shape: Shape, one: Order, other: Order) -> bool:
    """Whether a tensor of this shape lies alike in memory in both orders of axes."""
    return [a for a in one if shape[a] > 1] == [a for a in other if shape[a] > 1]


def layout_conversion(source: DeviceTensor, target: DeviceTensor) -> Run:
    """What converts the first feature map into the second; it may be captured into a graph.

    Both have the same shape; one has its channels first, the other last.
    """
    shape = source.shape
    channels, space = shape[1], prod(shape[2:])
    first = source.order[1] == 1
    height, width = (channels, space) if first else (space, channels)
    kernel = _conversion_kernel(source.element_bytes)
    across, down = -(-width // TILE), -(-height // TILE)
    # The first axis of a grid alone may have more than 65,535 blocks.
    grid = (across * down, 1, shape[0])
    arguments = (source.array, target.array, *map(np.int32, (height, width, across)))
    return lambda: kernel(grid, (TILE, ROWS), arguments)


@cache
def _conversion_kernel(size: int) -> Any:
    word = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}[size]
    return cupy.RawKernel(_SOURCE.replace("WORD", word), "turn")


_SOURCE = """
extern "C" __global__ void turn(const WORD* __restrict__ x, WORD* __restrict__ y, int height,
    int width, int across) {
  __shared__ WORD tile[32][33];
  const long long image = (long long)blockIdx.z * height * width;
  const int left = blockIdx.x % across * 32, top = blockIdx.x / across * 32;
  for (int i = threadIdx.y; i < 32; i += 8)
    if (top + i < height && left + threadIdx.x < width)
      tile[i][threadIdx.x] = x[image + (long long)(top + i) * width + left + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8)
    if (left + i < width && top + threadIdx.x < height)
      y[image + (long long)(left + i) * height + top + threadIdx.x] = tile[threadIdx.x][i];
}
"""
