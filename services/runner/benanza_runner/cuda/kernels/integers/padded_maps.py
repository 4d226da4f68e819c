"""Feature maps of 8 bits as Tensor Cores take them: signed, with channels in whole groups.

Unsigned integers are moved by 128. Then 0 is -128, so the pads around the map are written as well.
Codes of float8 stay as they are.
"""

from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.elements import IN_MEMORY
from benanza_runner.cuda.kernels.integers.products import shift
from benanza_runner.cuda.kernels.launching import launch

THREADS = 256
FOUR = 4
"""Channels of a thread."""


def padded_map(x: DeviceTensor, shape: Shape, before: Shape, channels: int) -> tuple[Any, Run]:
    """Memory for a map of this shape of two axes of space, and what writes `x` into it as bytes.

    All axes are in ONNX's order, but in memory channels come last. `x` has pads `before` it, as
    wide as the shape says, and as many `channels` more as it lacks; `channels` is a multiple of
    `FOUR`.
    """
    batch, own, height, width = x.shape
    _, _, rows, columns = shape
    written = cupy.empty((batch, rows, columns, channels), cupy.int8)
    quads = prod(written.shape) // FOUR
    numbers = (own, height, width, channels // FOUR, rows, columns, *before)
    arguments = (x.array, written, np.int64(quads), *map(np.int32, numbers))
    return written, launch(_padded(x.element), -(-quads // THREADS), THREADS, arguments)


@cache
def _padded(element: str) -> Any:
    source = f"""
typedef {IN_MEMORY[element]} E;
extern "C" __global__ void padded_map(const E* __restrict__ x, char4* __restrict__ written,
    long long size, int channels, int height, int width, int quads, int rows, int columns, int top,
    int left) {{
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= size) return;
  const int first = at % quads * {FOUR};
  long long rest = at / quads;
  const int column = rest % columns - left;
  rest /= columns;
  const int row = rest % rows - top;
  const long long image = rest / rows;
  const bool inside = row >= 0 && row < height && column >= 0 && column < width;
  const E* const pixel = x + ((image * height + row) * width + column) * channels;
  signed char four[{FOUR}];
  #pragma unroll
  for (int i = 0; i < {FOUR}; ++i) {{
    const int v = inside && first + i < channels ? (int)pixel[first + i] : 0;
    four[i] = (signed char)(v - {shift(element)});
  }}
  written[at] = make_char4(four[0], four[1], four[2], four[3]);
}}
"""
    return cupy.RawKernel(source, "padded_map")
