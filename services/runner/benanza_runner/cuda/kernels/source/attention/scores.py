"""What sources of attention share: what becomes of a score before the softmax."""

from typing import NamedTuple

from benanza_runner.cuda.calls import Attention, QuantisedCache
from benanza_runner.cuda.elements import IN_MEMORY


class Scoring(NamedTuple):
    """What a kernel does beside scaled scores and their softmax: parts of the source that it has.

    `mask` is the type of the mask's elements in C, `T` if they are added to scores, and empty if
    there is none. `stored` says how keys and values are, None for floats; `paged`
    whether they lie in blocks.
    """

    mask: str = ""
    causal: bool = False
    window: bool = False
    cap: bool = False
    sinks: bool = False
    biased: bool = False
    stored: QuantisedCache | None = None
    paged: bool = False


def scoring_of(call: Attention, element: str) -> Scoring:
    """That of an attention whose mask has elements of this type."""
    mask = "" if not call.mask else IN_MEMORY[element] if call.chosen else "T"
    return Scoring(
        mask=mask,
        causal=call.causal,
        window=call.window > 0,
        cap=call.cap > 0,
        sinks=call.sinks,
        biased=call.biased,
        stored=call.stored,
        paged=call.pages is not None,
    )


def scoring_source(scoring: Scoring) -> str:
    """Definitions: `M` is the type of a mask's elements, `Step` that of strides, `NONE` the score
    of a key that a query doesn't see; `hidden` says of which that is so, `capped` is a score within
    its cap, and `unseen` how many keys no query behind so many others sees. `row_of` is the row of
    a key in the cache; parameters that it needs are `PAGES`.
    """
    return f"""
#define MASK {int(bool(scoring.mask))}
#define CHOSEN {int(scoring.mask not in ("", "T"))}
#define CAUSAL {int(scoring.causal)}
#define WINDOW {int(scoring.window)}
#define CAP {int(scoring.cap)}
#define SINKS {int(scoring.sinks)}
#define BIASED {int(scoring.biased)}
#define PAGED {int(scoring.paged)}
typedef long long Step;
typedef {scoring.mask or "T"} M;
#define NONE __int_as_float(0xff800000)
{_SOURCE}"""


_SOURCE = """
__device__ __forceinline__ float capped(float score, float cap) {
  return CAP ? cap * tanhf(score / cap) : score;
}
// With its bias, what queries of a head have in a column, or what values have there on average.
__device__ __forceinline__ float biased(float v, const T* bias, unsigned at) {
  return BIASED ? v + load(bias[at]) : v;
}
// A row of the table is that of a sequence.
#if PAGED
#define PAGES \
  const int* __restrict__ ends, const int* __restrict__ past, const int* __restrict__ table, \
  unsigned width, unsigned block,
#define row_of(place) ((Step)table[(place) / block] * block + (place) % block)
#else
#define PAGES
#define row_of(place) (place)
#endif
__device__ __forceinline__ unsigned unseen(unsigned before, unsigned window) {
  return WINDOW && before >= window ? before + 1 - window : 0;
}
// Whether a query at the place `own` doesn't see the key at this place.
__device__ __forceinline__ bool hidden(unsigned place, unsigned own, unsigned window) {
  return (CAUSAL && place > own) || (WINDOW && place + window <= own);
}
"""
