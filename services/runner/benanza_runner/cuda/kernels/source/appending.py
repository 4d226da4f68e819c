"""The source of the kernel that appends new keys and values to a cache.

It rotates queries and keys, if they are to be. A thread has a few neighbours of a head of a token.
"""

from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_schemas.layer import Precision


def appending_source(
    precision: Precision,
    sizes: tuple[int, int, int],
    width: int,
    rotated: int,
    *,
    packed: bool,
    interleaved: bool,
) -> str:
    """The kernel for so many heads of queries and of keys, each of so many elements, of which a
    thread has `width` and the first `rotated` are rotated, as `CachedAttention` says it.

    A head, and half of what is rotated, have a multiple of `width` elements, which is even. Where
    nothing is rotated, queries are left as they are.
    """
    heads, key_heads, size = sizes
    return f"""{PREAMBLE[precision]}
#define HEADS {heads}
#define KEY_HEADS {key_heads}
#define SIZE {size}
#define WIDTH {width}
#define ROTATED {rotated}
#define PACKED {int(packed)}
#define INTERLEAVED {int(interleaved)}
{_SOURCE}"""


_SOURCE = """
#define HALF (ROTATED / 2)
#define FIRST (ROTATED ? 0 : HEADS)
#define ALL (HEADS + 2 * KEY_HEADS)
typedef long long Step;
struct __align__(sizeof(T) * WIDTH) Few { T v[WIDTH]; };
__device__ __forceinline__ Few few(const T* p) { return *(const Few*)p; }

__device__ __forceinline__ Few turned(const T* head, unsigned column, const T* cosines,
                                      const T* sines) {
  const Few own = few(head + column);
#if ROTATED
  if (column >= ROTATED) return own;
  Few result;
#if INTERLEAVED
  #pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    const unsigned at = column + i;
    const float other = load(own.v[i ^ 1]);
    result.v[i] = store(load(own.v[i]) * load(cosines[at / 2])
                        + (at % 2 ? other : -other) * load(sines[at / 2]));
  }
#else
  const bool second = column >= HALF;
  const unsigned angle = second ? column - HALF : column;
  const Few other = few(head + (second ? angle : column + HALF));
  const Few cosine = few(cosines + angle), sine = few(sines + angle);
  #pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    const float of_other = load(other.v[i]);
    result.v[i] = store(load(own.v[i]) * load(cosine.v[i])
                        + (second ? of_other : -of_other) * load(sine.v[i]));
  }
#endif
  return result;
#else
  return own;
#endif
}

extern "C" __global__ void append(const T* __restrict__ query, const T* __restrict__ key,
    const T* __restrict__ value, const T* __restrict__ cosines, const T* __restrict__ sines,
    T* __restrict__ rotated, T* __restrict__ key_cache, T* __restrict__ value_cache,
    unsigned queries, unsigned keys, unsigned threads) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  const unsigned column = thread % (SIZE / WIDTH) * WIDTH, of = thread / (SIZE / WIDTH);
  const unsigned head = of % (ALL - FIRST) + FIRST, token = of / (ALL - FIRST);
  const unsigned batch = token / queries, place = keys - queries + token % queries;
  const bool is_query = head < HEADS, is_key = !is_query && head < HEADS + KEY_HEADS;
  const unsigned mine = is_query ? head : is_key ? head - HEADS : head - HEADS - KEY_HEADS;
#if PACKED
  const T* const from = query + ((Step)token * ALL + head) * SIZE;
#else
  const T* const from = (is_query ? query : is_key ? key : value)
                        + ((Step)token * (is_query ? HEADS : KEY_HEADS) + mine) * SIZE;
#endif
  const Step row = ((Step)batch * KEY_HEADS + mine) * keys + place;
  T* const to = is_query ? rotated + ((Step)token * HEADS + mine) * SIZE
                         : (is_key ? key_cache : value_cache) + row * SIZE;
  *(Few*)(to + column) = is_query || is_key
      ? turned(from, column, cosines + (Step)place * HALF, sines + (Step)place * HALF)
      : few(from + column);
}
"""
