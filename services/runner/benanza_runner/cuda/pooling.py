"""Poolings as one kernel, a thread for each output, compiled through CuPy."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.calls import Pooling
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.layouts import image_layouts
from benanza_runner.cuda.storage import PREAMBLE
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

LIBRARY = "cupy"
THREADS = (64, 256)
WARP = 32
FEW_OUTPUTS = 1 << 18
"""Up to so many, a warp for each output is tried too: its threads share the window."""

MODES = {"max": 0, "average": 1, "average_padded": 2}


class PoolingKernels:
    """Candidates for poolings: layouts, a thread or a warp for each output, threads in a block."""

    def candidates(self, bench: Bench) -> Iterator[Candidate | Variant]:
        call = bench.call
        if not isinstance(call, Pooling) or len(call.image) != 4:
            return
        outputs = prod(call.output)
        for layout, order in image_layouts(4):
            image, result = bench.operand("image", order), bench.result(call.output, order)
            numbers = (
                *call.image[1:],
                *call.output[2:],
                *call.window,
                *call.strides,
                *call.dilations,
                *call.pads_before,
            )
            arguments = (image.array, result.array, np.int32(outputs), *map(np.int32, numbers))
            lanes = [1]
            if outputs <= FEW_OUTPUTS and prod(call.window) >= WARP // 2:
                lanes.append(WARP)
            for lane in lanes:
                kernel = _kernel(bench.precision, call.mode, order[1] == 1, lane)
                for threads in THREADS:
                    blocks = -(-outputs * lane // threads)
                    who = "warp" if lane == WARP else "thread"
                    name = f"pooling kernel (a {who} each, {threads} threads)"
                    run = _launch(kernel, blocks, threads, arguments)
                    yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


def _launch(kernel: Any, blocks: int, threads: int, arguments: tuple[Any, ...]) -> Any:
    return lambda: kernel((blocks,), (threads,), arguments)


@cache
def _kernel(precision: Precision, mode: str, channels_first: bool, lanes: int) -> Any:
    defines = f"#define MODE {MODES[mode]}\n#define FIRST {int(channels_first)}\n"
    return cupy.RawKernel(f"{PREAMBLE[precision]}{defines}#define LANES {lanes}\n{_SOURCE}", "pool")


_SOURCE = """
extern "C" __global__ void pool(const T* __restrict__ x, T* __restrict__ y, int outputs,
    int C, int H, int W, int OH, int OW, int R, int S, int sh, int sw, int dh, int dw,
    int ph, int pw) {
  const int at = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const int lane = threadIdx.x % LANES;
  if (at >= outputs) return;
  int rest = at;
#if FIRST
  const int ow = rest % OW; rest /= OW;
  const int oh = rest % OH; rest /= OH;
  const T* image = x + (long long)rest * H * W;
  const int step = 1;
#else
  const int c = rest % C; rest /= C;
  const int ow = rest % OW; rest /= OW;
  const int oh = rest % OH; rest /= OH;
  const T* image = x + (long long)rest * H * W * C + c;
  const int step = C;
#endif
  float best = MODE == 0 ? __int_as_float(0xff800000) : 0.0f;
  int count = 0;
  for (int at = lane; at < R * S; at += LANES) {
    const int h = oh * sh - ph + (at / S) * dh, w = ow * sw - pw + (at % S) * dw;
    if (h >= 0 && h < H && w >= 0 && w < W) {
      const float v = load(image[(long long)(h * W + w) * step]);
      best = MODE == 0 ? fmaxf(best, v) : best + v;
      ++count;
    }
  }
#if LANES > 1
  for (int offset = LANES / 2; offset; offset /= 2) {
    const float other = __shfl_down_sync(0xffffffffu, best, offset);
    best = MODE == 0 ? fmaxf(best, other) : best + other;
    count += __shfl_down_sync(0xffffffffu, count, offset);
  }
  if (lane) return;
#endif
  if (MODE == 1) best /= count;
  if (MODE == 2) best /= R * S;
  y[at] = store(best);
}
"""
