"""The source of the kernel that makes floats of all keys and values that a quantised cache has."""

from benanza_runner.cuda.calls import QuantisedCache
from benanza_runner.cuda.kernels.source.attention.cache_codes import codes_source
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_schemas.layer import Precision


def expanding_source(precision: Precision, size: int, width: int, stored: QuantisedCache) -> str:
    """The kernel for heads of this size, of which a thread has `width` columns of a key or of a
    value. Keys are the first ones of the room, and lie without the rest of it behind.
    """
    return f"""{PREAMBLE[precision]}
#define SIZE {size}
#define WIDTH {width}
{codes_source(stored)}
{_SOURCE}"""


_SOURCE = """
typedef long long Step;
struct __align__(sizeof(T) * WIDTH) Few { T v[WIDTH]; };
extern "C" __global__ void expand(const C* __restrict__ key_cache,
    const C* __restrict__ value_cache, const float* __restrict__ key_scales,
    const float* __restrict__ value_scales, T* __restrict__ all_keys,
    T* __restrict__ all_values, unsigned key_heads, unsigned keys, unsigned room,
    unsigned threads) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= 2 * threads) return;
  const bool is_key = thread < threads;
  const unsigned mine = is_key ? thread : thread - threads;
  const unsigned column = mine % (SIZE / WIDTH) * WIDTH, row = mine / (SIZE / WIDTH);
  const unsigned place = row % keys, head = row / keys;
  const C* const from = (is_key ? key_cache : value_cache)
                        + ((Step)head * room + place) * (SIZE / PER_BYTE);
  Few few;
  #pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    const unsigned at = head % key_heads * SIZE + column + i;
    const float scale = is_key ? key_scale(key_scales, at) : value_scale(value_scales, at);
    few.v[i] = store(number(from, column + i) * scale);
  }
  *(Few*)((is_key ? all_keys : all_values) + (Step)row * SIZE + column) = few;
}
"""
