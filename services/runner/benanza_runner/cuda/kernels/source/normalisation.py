"""The kernel of normalisations over neighbouring channels, as CUDA C++."""

from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_schemas.layer import Precision

THREE_QUARTERS = 0.75
"""Beta in most models: two roots give that power faster than the power of any number."""


def source(precision: Precision, size: int, beta: float, width: int, *, along: bool) -> str:
    """A kernel `normalise` over so many channels, in which a thread has `width` elements.

    These lie next to each other, as channels of a pixel if `along`: then what they need lies in
    three packs. All is read at once; what is outside is read at the border.
    """
    return f"""{PREAMBLE[precision]}
#define BEFORE {(size - 1) // 2}
#define AFTER {size // 2}
#define WIDTH {width}
#define ALONG {int(along)}
#define ROOTS {int(beta == THREE_QUARTERS)}
{_SOURCE}"""


_SOURCE = """
struct __align__(sizeof(T) * WIDTH) Pack { T v[WIDTH]; };
__device__ __forceinline__ Pack pack(const T* p) { return *reinterpret_cast<const Pack*>(p); }
extern "C" __global__ void normalise(const T* __restrict__ x, T* __restrict__ y, int elements,
    int channels, int step, float alpha, float power, float bias) {
  const int at = (blockIdx.x * blockDim.x + threadIdx.x) * WIDTH;
  if (at >= elements) return;
  const int channel = at / step % channels;
  const Pack own = pack(x + at);
  float sums[WIDTH];
#if ALONG
  const bool begins = channel == 0, ends = channel + WIDTH == channels;
  const Pack left = pack(x + (begins ? at : at - WIDTH));
  const Pack right = pack(x + (ends ? at : at + WIDTH));
  float squares[3 * WIDTH];
  #pragma unroll
  for (int j = 0; j < WIDTH; ++j) {
    const float a = load(left.v[j]), b = load(own.v[j]), c = load(right.v[j]);
    squares[j] = begins ? 0.0f : a * a;
    squares[WIDTH + j] = b * b;
    squares[2 * WIDTH + j] = ends ? 0.0f : c * c;
  }
  #pragma unroll
  for (int j = 0; j < WIDTH; ++j) {
    sums[j] = 0.0f;
    #pragma unroll
    for (int k = -BEFORE; k <= AFTER; ++k) sums[j] += squares[WIDTH + j + k];
  }
#else
  #pragma unroll
  for (int j = 0; j < WIDTH; ++j) sums[j] = 0.0f;
  #pragma unroll
  for (int k = -BEFORE; k <= AFTER; ++k) {
    const bool inside = channel + k >= 0 && channel + k < channels;
    const Pack p = pack(x + (inside ? at + k * step : at));
    #pragma unroll
    for (int j = 0; j < WIDTH; ++j) {
      const float there = load(p.v[j]), v = inside ? there : 0.0f;
      sums[j] += v * v;
    }
  }
#endif
  Pack out;
  #pragma unroll
  for (int j = 0; j < WIDTH; ++j) {
    const float scale = bias + alpha * sums[j];
#if ROOTS
    const float root = rsqrtf(scale), factor = root * sqrtf(root);
#else
    const float factor = powf(scale, power);
#endif
    out.v[j] = store(load(own.v[j]) * factor);
  }
  *reinterpret_cast<Pack*>(y + at) = out;
}
"""
