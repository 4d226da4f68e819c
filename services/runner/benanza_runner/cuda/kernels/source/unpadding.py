"""The source of the kernel that moves rows together."""


def unpadding_source(word: str, pack: int) -> str:
    """CUDA C of the kernel for elements of this type, of which `pack` are 16 bytes.

    Each thread writes 16 bytes. They begin anywhere in a row of the source, whose rows begin at
    multiples of 16 bytes: so a thread reads the 16 bytes in which they begin and the next ones, and
    shifts. A thread whose elements are of two rows, or are the last ones, reads them one by one.
    """
    return f"""
extern "C" __global__ void unpad(const {word}* __restrict__ p, {word}* __restrict__ q,
    unsigned total, unsigned length, unsigned padded) {{
  const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * {pack};
  if (first >= total) return;
  unsigned row = first / length, column = first % length;
  if (column + {pack} > length) {{
    for (int at = 0; at < {pack} && first + at < total; ++at) {{
      q[first + at] = p[(size_t)row * padded + column];
      if (++column == length) {{ column = 0; ++row; }}
    }}
    return;
  }}
  const uint4* begin = reinterpret_cast<const uint4*>(p + (size_t)row * padded) + column / {pack};
  const unsigned apart = column % {pack} * sizeof({word});
  const uint4 low = begin[0], high = apart ? begin[1] : low;
  unsigned found[8] = {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
  #pragma unroll
  for (int at = 0; at < 6; ++at) if (apart & 8) found[at] = found[at + 2];
  #pragma unroll
  for (int at = 0; at < 5; ++at) if (apart & 4) found[at] = found[at + 1];
  #pragma unroll
  for (int at = 0; at < 4; ++at)
    if (apart & 2) found[at] = __funnelshift_r(found[at], found[at + 1], 16);
  reinterpret_cast<uint4*>(q)[first / {pack}] = make_uint4(found[0], found[1], found[2], found[3]);
}}
"""
