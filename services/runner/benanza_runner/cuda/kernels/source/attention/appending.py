"""The source of the kernel that appends new keys and values to a cache.

It rotates queries and keys, if they are to be. A thread has a few neighbours of a head of a token.
"""

from benanza_runner.cuda.calls import QuantisedCache
from benanza_runner.cuda.kernels.source.attention.cache_codes import codes_source
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
    stored: QuantisedCache | None,
    paged: bool,
) -> str:
    """The kernel for so many heads of queries and of keys, each of so many elements, of which a
    thread has `width` and the first `rotated` are rotated, as `CachedAttention` says it.

    A head, and half of what is rotated, have a multiple of `width` elements, which is even. Where
    nothing is rotated, queries are left as they are. What is `stored` as codes is rounded once.
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
#define PAGED {int(paged)}
{codes_source(stored)}
{_SOURCE.replace("PLACES", _IN_BLOCKS if paged else _IN_A_ROW)}"""


_IN_A_ROW = "unsigned queries, unsigned keys, unsigned room"
_IN_BLOCKS = """const int* __restrict__ ends, const int* __restrict__ past,
    const int* __restrict__ table, unsigned width, unsigned block, unsigned batches"""
"""Parameters that say where new keys go."""


_SOURCE = """
#define HALF (ROTATED / 2)
#define FIRST (ROTATED ? 0 : HEADS)
#define ALL (HEADS + 2 * KEY_HEADS)
typedef long long Step;
struct __align__(sizeof(T) * WIDTH) Few { T v[WIDTH]; };
__device__ __forceinline__ Few few(const T* p) { return *(const Few*)p; }
struct Floats { float v[WIDTH]; };
__device__ __forceinline__ Floats floats(const T* p) {
  const Few own = few(p);
  Floats result;
  #pragma unroll
  for (int i = 0; i < WIDTH; ++i) result.v[i] = load(own.v[i]);
  return result;
}
__device__ __forceinline__ void keep(T* to, Floats from) {
  Few result;
  #pragma unroll
  for (int i = 0; i < WIDTH; ++i) result.v[i] = store(from.v[i]);
  *(Few*)to = result;
}
#if QUANTISED
struct __align__(WIDTH / PER_BYTE) Codes { C v[WIDTH / PER_BYTE]; };
__device__ __forceinline__ void keep_codes(C* to, Floats from) {
  Codes result;
  #pragma unroll
  for (int i = 0; i < WIDTH / PER_BYTE; ++i)
    result.v[i] = PER_BYTE == 1 ? code(from.v[i])
                                : code(from.v[2 * i]) | code(from.v[2 * i + 1]) << 4;
  *(Codes*)to = result;
}
#endif

__device__ __forceinline__ Floats turned(const T* head, unsigned column, const T* cosines,
                                      const T* sines) {
  const Floats own = floats(head + column);
#if ROTATED
  if (column >= ROTATED) return own;
  Floats result;
#if INTERLEAVED
  #pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    const unsigned at = column + i;
    const float other = own.v[i ^ 1];
    result.v[i] = own.v[i] * load(cosines[at / 2])
                  + (at % 2 ? other : -other) * load(sines[at / 2]);
  }
#else
  const bool second = column >= HALF;
  const unsigned angle = second ? column - HALF : column;
  const Floats other = floats(head + (second ? angle : column + HALF));
  const Floats cosine = floats(cosines + angle), sine = floats(sines + angle);
  #pragma unroll
  for (int i = 0; i < WIDTH; ++i)
    result.v[i] = own.v[i] * cosine.v[i] + (second ? other.v[i] : -other.v[i]) * sine.v[i];
#endif
  return result;
#else
  return own;
#endif
}

extern "C" __global__ void append(const T* __restrict__ query, const T* __restrict__ key,
    const T* __restrict__ value, const T* __restrict__ cosines, const T* __restrict__ sines,
    const float* __restrict__ key_scales, const float* __restrict__ value_scales,
    T* __restrict__ rotated, C* __restrict__ key_cache, C* __restrict__ value_cache,
    PLACES, unsigned threads) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  const unsigned column = thread % (SIZE / WIDTH) * WIDTH, of = thread / (SIZE / WIDTH);
  const unsigned head = of % (ALL - FIRST) + FIRST, token = of / (ALL - FIRST);
#if PAGED
  unsigned batch = 0;  // the last one that begins no later than the token
  for (unsigned behind = batches; behind - batch > 1;) {
    const unsigned middle = (batch + behind) / 2;
    if (ends[middle] <= token) batch = middle; else behind = middle;
  }
  const unsigned place = past[batch] + token - ends[batch];
#else
  const unsigned batch = token / queries, place = keys - queries + token % queries;
#endif
  const bool is_query = head < HEADS, is_key = !is_query && head < HEADS + KEY_HEADS;
  const unsigned mine = is_query ? head : is_key ? head - HEADS : head - HEADS - KEY_HEADS;
#if PACKED
  const T* const from = query + ((Step)token * ALL + head) * SIZE;
#else
  const T* const from = (is_query ? query : is_key ? key : value)
                        + ((Step)token * (is_query ? HEADS : KEY_HEADS) + mine) * SIZE;
#endif
  Floats mine_now = is_query || is_key
      ? turned(from, column, cosines + (Step)place * HALF, sines + (Step)place * HALF)
      : floats(from + column);
  if (is_query) {
    keep(rotated + ((Step)token * HEADS + mine) * SIZE + column, mine_now);
    return;
  }
#if PAGED
  const Step row = ((Step)table[batch * width + place / block] * block + place % block) * KEY_HEADS
                   + mine;
#else
  const Step row = ((Step)batch * KEY_HEADS + mine) * room + place;
#endif
  C* const to = (is_key ? key_cache : value_cache) + (row * SIZE + column) / PER_BYTE;
#if QUANTISED
  #pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    const unsigned of = mine * SIZE + column + i;
    mine_now.v[i] /= is_key ? key_scale(key_scales, of) : value_scale(value_scales, of);
  }
  keep_codes(to, mine_now);
#else
  keep(to, mine_now);
#endif
}
"""
