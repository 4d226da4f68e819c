"""Rows moved together, after a call that padded them."""

from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.launching import WIDE_BYTES, WORDS, launch

THREADS = 256


def unpad(source: DeviceTensor, target: DeviceTensor) -> Run:
    """What starts the copy of the first elements of each row of `source`, which has two axes, so
    many that they fill `target`.
    """
    rows, padded = source.array.shape
    size = source.element_bytes
    pack = WIDE_BYTES // size
    total = target.array.size
    arguments = (
        source.array,
        target.array,
        np.uint32(total),
        np.uint32(total // rows),
        np.uint32(padded),
    )
    return launch(
        _unpadding(WORDS[size], pack),
        -(-total // (THREADS * pack)),
        THREADS,
        arguments,
    )


@cache
def _unpadding(word: str, pack: int) -> Any:
    source = f"""
extern "C" __global__ void unpad(const {word}* __restrict__ p, {word}* __restrict__ q,
    unsigned total, unsigned length, unsigned padded) {{
  const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * {pack};
  if (first >= total) return;
  unsigned row = first / length, column = first % length;
  union {{ {word} each[{pack}]; uint4 all; }} found;
  #pragma unroll
  for (int at = 0; at < {pack}; ++at) {{
    if (first + at < total) found.each[at] = p[(size_t)row * padded + column];
    if (++column == length) {{ column = 0; ++row; }}
  }}
  if (first + {pack} <= total) {{
    reinterpret_cast<uint4*>(q)[first / {pack}] = found.all;
    return;
  }}
  for (int at = 0; first + at < total; ++at) q[first + at] = found.each[at];
}}
"""
    return cupy.RawKernel(source, "unpad")
