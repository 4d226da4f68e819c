"""Poolings as one kernel, a thread for each output, compiled through CuPy."""

from collections.abc import Iterator
from functools import cache
from itertools import chain, product
from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np

from benanza_runner.cuda.arrays import BYTES
from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.calls import Pooling, Shape
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.kernels.launching import LIBRARY, launch
from benanza_runner.cuda.kernels.storage import PREAMBLE
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

THREADS = (64, 256)
WARP = 32
WIDE_BYTES = 16
FEW_OUTPUTS = 1 << 18
"""Up to so many, a warp for each output is tried too: its threads share the window."""

MOST_UNROLLED = 16
"""Elements of a window that are asked for before the first of them is needed."""

MODES = {"max": 0, "average": 1, "average_padded": 2}


class Window(NamedTuple):
    """Sizes, strides, dilations and pads before, each for three axes of space."""

    sizes: Shape
    strides: Shape
    dilations: Shape
    pads: Shape


class PoolingKernels:
    """Candidates for poolings: layouts, a thread or a warp for each output, threads in a block."""

    library = LIBRARY

    def candidates(self, bench: Bench) -> Iterator[Candidate | Variant]:
        call = bench.call
        if not isinstance(call, Pooling):
            return
        outputs = prod(call.output)
        # The kernel knows three axes of space, of which the first may be of one.
        one, none = ((), ()) if len(call.window) == 3 else ((1,), (0,))
        window = Window(
            one + call.window, one + call.strides, one + call.dilations, none + call.pads_before
        )
        for layout, order in bench.layouts(len(call.image)):
            image = bench.expanded("image", call.image, order)
            result = bench.result(call.output, order)
            numbers = (call.image[1], *one, *call.image[2:], *one, *call.output[2:])
            arguments = (image.array, result.array, np.int32(outputs), *map(np.int32, numbers))
            first = order[1] == 1
            widths = [1]
            wide = WIDE_BYTES // BYTES[bench.precision]
            if not first and call.image[1] % wide == 0:
                widths += [wide // 2, wide]
            few = outputs <= FEW_OUTPUTS and prod(call.window) >= WARP // 2
            for lanes, width in product((1, WARP) if few else (1,), widths):
                kernel = _kernel(bench.precision, call.mode, first, window, lanes, width)
                for threads in THREADS:
                    blocks = -(-outputs * lanes // (width * threads))
                    who = "warp" if lanes == WARP else "thread"
                    name = f"pooling kernel ({width} a {who}, {threads} threads)"
                    run = launch(kernel, blocks, threads, arguments)
                    yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


@cache
def _kernel(
    precision: Precision, mode: str, channels_first: bool, window: Window, lanes: int, width: int
) -> Any:
    names = "Q R S SD SH SW DD DH DW PD PH PW".split()
    numbers = "".join(
        f"#define {name} {number}\n"
        for name, number in zip(names, chain.from_iterable(window), strict=True)
    )
    unrolled = min(-(-prod(window.sizes) // lanes), MOST_UNROLLED)
    source = f"""{PREAMBLE[precision]}
#define MODE {MODES[mode]}
#define FIRST {int(channels_first)}
#define LANES {lanes}
#define WIDTH {width}
{numbers}{_SOURCE.replace("UNROLLED", str(unrolled))}"""
    return cupy.RawKernel(source, "pool")


# Windows are known when this is compiled, so that all of a small one is asked for at once.
_SOURCE = """
struct __align__(sizeof(T) * WIDTH) Pack { T v[WIDTH]; };
extern "C" __global__ void pool(const T* __restrict__ x, T* __restrict__ y, int outputs,
    int C, int D, int H, int W, int OD, int OH, int OW) {
  // WIDTH channels next to each other for each thread, or the LANES threads that share them.
  const int at = (blockIdx.x * blockDim.x + threadIdx.x) / LANES * WIDTH;
  const int lane = threadIdx.x % LANES;
  if (at >= outputs) return;
  int rest = at;
#if FIRST
  const int c = 0, step = 1;
#else
  const int c = rest % C, step = C;
  rest /= C;
#endif
  const int ow = rest % OW; rest /= OW;
  const int oh = rest % OH; rest /= OH;
  const int od = rest % OD; rest /= OD;
  const T* image = x + (long long)rest * D * H * W * step + c;
  const float none = MODE == 0 ? __int_as_float(0xff800000) : 0.0f;
  float best[WIDTH];
  #pragma unroll
  for (int j = 0; j < WIDTH; ++j) best[j] = none;
  int count = 0;
  #pragma unroll UNROLLED
  for (int i = lane; i < Q * R * S; i += LANES) {
    const int d = od * SD - PD + i / S / R * DD;
    const int h = oh * SH - PH + i / S % R * DH;
    const int w = ow * SW - PW + i % S * DW;
    const bool inside = d >= 0 && d < D && h >= 0 && h < H && w >= 0 && w < W;
    // What is outside is read at the border and left out: no branch has to be waited for.
    const int y0 = min(max(h, 0), H - 1), x0 = min(max(w, 0), W - 1);
    const long long pixel = ((long long)min(max(d, 0), D - 1) * H + y0) * W + x0;
    const Pack p = *reinterpret_cast<const Pack*>(image + pixel * step);
    #pragma unroll
    for (int j = 0; j < WIDTH; ++j) {
      const float there = load(p.v[j]), v = inside ? there : none;
      best[j] = MODE == 0 ? fmaxf(best[j], v) : best[j] + v;
    }
    count += inside;
  }
#if LANES > 1
  for (int offset = LANES / 2; offset; offset /= 2) {
    #pragma unroll
    for (int j = 0; j < WIDTH; ++j) {
      const float other = __shfl_down_sync(0xffffffffu, best[j], offset);
      best[j] = MODE == 0 ? fmaxf(best[j], other) : best[j] + other;
    }
    count += __shfl_down_sync(0xffffffffu, count, offset);
  }
  if (lane) return;
#endif
  Pack out;
  #pragma unroll
  for (int j = 0; j < WIDTH; ++j) {
    if (MODE == 1) best[j] /= count;
    if (MODE == 2) best[j] /= Q * R * S;
    out.v[j] = store(best[j]);
  }
  *reinterpret_cast<Pack*>(y + at) = out;
}
"""
