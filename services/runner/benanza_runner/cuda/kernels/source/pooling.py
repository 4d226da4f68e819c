"""The kernel of poolings, as CUDA C++."""

from itertools import chain
from math import prod
from typing import NamedTuple

from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_schemas.layer import Precision

MOST_UNROLLED = 16
"""Elements of a window that are asked for before the first of them is needed."""

MODES = {"max": 0, "average": 1, "average_padded": 2}


class PoolingWindow(NamedTuple):
    """Sizes, strides, dilations and pads before, each for three axes of space."""

    sizes: Shape
    strides: Shape
    dilations: Shape
    pads: Shape


def source(
    precision: Precision,
    mode: str,
    channels_first: bool,
    window: PoolingWindow,
    lanes: int,
    width: int,
) -> str:
    """A kernel `pool` in which `lanes` threads compute `width` channels of an output.

    The window is known when it is compiled, so that all of a small one is asked for at once.
    """
    names = "Q R S SD SH SW DD DH DW PD PH PW".split()
    numbers = "".join(
        f"#define {name} {number}\n"
        for name, number in zip(names, chain.from_iterable(window), strict=True)
    )
    unrolled = min(-(-prod(window.sizes) // lanes), MOST_UNROLLED)
    return f"""{PREAMBLE[precision]}
#define MODE {MODES[mode]}
#define FIRST {int(channels_first)}
#define LANES {lanes}
#define WIDTH {width}
{numbers}{_SOURCE.replace("UNROLLED", str(unrolled))}"""


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
