"""How the kernel of split attention ends: the block that arrives last merges the parts of all."""

MERGING = """
  // The block that arrives last merges what all have found.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(arrived + whole, 1) == splits - 1;
    if (last) arrived[whole] = 0;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  // So many threads look at the parts of a row in turn, and each puts four columns of it together.
  const unsigned lookers = present > 8 ? 8 : present > 4 ? 16 : 32;
  const float* const found_by = parts + (Step)whole * splits * part;
  float* const factors = (float*)memory;  // of each part and row
  const unsigned looked_at = threadIdx.x / lookers;
  const float* const highest = found_by + 16 * SIZE + looked_at;
  float larger = NONE, all = 0.0f;
  if (looked_at < present)
    #pragma unroll 4
    for (unsigned s = threadIdx.x % lookers; s < splits; s += lookers)
      larger = fmaxf(larger, __ldcg(highest + s * part));
  larger = over_lanes(larger, lookers, true);
  if (looked_at < present)
    #pragma unroll 4
    for (unsigned s = threadIdx.x % lookers; s < splits; s += lookers) {
      const float most_seen = __ldcg(highest + s * part);
      const float factor = most_seen == NONE ? 0.0f : __expf(most_seen - larger);
      factors[s * 16 + looked_at] = factor;
      all += factor * __ldcg(highest + s * part + 16);
    }
  all = over_lanes(all, lookers, false);
  if (looked_at < present && threadIdx.x % lookers == 0)
    sum_of[0][looked_at] = all == 0.0f ? 0.0f : 1.0f / all;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < present * SIZE / 4; i += 32 * WARPS) {
    const unsigned row = i / (SIZE / 4), column = i % (SIZE / 4) * 4, at = tile * 16 + row;
    float found[4] = {};
    #pragma unroll 16
    for (unsigned s = 0; s < splits; ++s) {
      const float4 four = __ldcg((const float4*)(found_by + s * part) + i);
      const float factor = factors[s * 16 + row];
      found[0] += factor * four.x;
      found[1] += factor * four.y;
      found[2] += factor * four.z;
      found[3] += factor * four.w;
    }
    T* const to = result + batch * yb + (head * group + at % group) * yh + at / group * yr;
    #pragma unroll
    for (int j = 0; j < 4; ++j)
      to[(column + j) * yc] = store(biased(found[j] * sum_of[0][row], value_bias,
                                           (head * group + at % group) * SIZE + column + j));
  }
}
"""
"""It is the rest of the kernel's body. A part has sums of values, and of each row the largest score
and the sum."""
