"""The calls that compute attention."""

import msgspec

from benanza_runner.cuda.calls.compute import Product
from benanza_runner.cuda.calls.shape import Shape


class QuantisedCache(msgspec.Struct, frozen=True):
    """Keys and values in few bits: codes, whose numbers are multiplied by scales.

    `element` is int8, float8e4m3fn or int4; two of int4 share a byte of uint8, the first one in its
    low bits, each as its number plus 8. The operands `key_scales` and `value_scales` have one
    float32, or one for each head of keys and column where that is `by_channel`. What is appended is
    divided by its scale, and rounded to the nearest code, ties to even, within their range.
    """

    element: str
    keys_by_channel: bool = False
    values_by_channel: bool = False

    @property
    def per_byte(self) -> int:
        """How many codes share a byte."""
        return 2 if self.element == "int4" else 1


class Pages(msgspec.Struct, frozen=True):
    """Sequences of different lengths, whose keys and values lie in blocks of a cache.

    There are so many new `tokens`, in which sequences follow each other. The operand `ends` says
    where each ends, behind a 0; `past` how many keys each has before its own; and `table` has for
    each sequence `width` numbers of blocks, each of which holds `block` keys with all their heads.
    They are integers of 32 bits.
    """

    tokens: int
    block: int
    width: int


class Attention(msgspec.Struct, frozen=True):
    """`softmax(scale · query · keyᵀ + mask) · value`, for each of `heads` in each of `batch`.

    Operands: `query` has matrices of `queries` rows of `size` elements, `key` of `keys` rows of
    `size`, `value` of `keys` rows of `width`; the result has `queries` rows of `width`. They may be
    parts of the operands, which are contiguous: `…_start` is their first element, and `…_steps` are
    their strides in elements, by batch, head, row and column. The result fills all of its memory.
    `key` has `key_heads`, each of which serves equally many heads that follow each other; the same
    holds for `value` and `value_heads`.

    The operand `mask`, if there is one, has the shape `mask`: batch, heads, queries and keys, each
    of which may be one. If there are two numbers `chosen`, it has bools or integers: the first
    number is added where they are True or not 0, the second one elsewhere. If `causal`, a query
    sees only the keys up to its own place, before which there are `before` keys more than queries.
    If there is a `window`, it sees none so many places before its own, or more. The result of a
    query that sees no key is zero. `output` is the shape that the layer gives the result.

    If there is a `cap`, scaled scores are `cap * tanh(score / cap)` before a mask is added. If
    there are `sinks`, the operand of this name has a number for each head, which the softmax has as
    the score of one more key, whose value is zero. If `biased`, the operands `query_bias` and
    `value_bias` have rows of `size` and of `width` for each head, which are added to those of
    queries and of values; a query that sees no key isn't expected then. If `shared`, the first
    elements of the rows of keys are those of values, and both operands are the same memory.

    If keys and values are `stored` as codes, their steps and starts count elements of the operands,
    and those of int4 are adjacent in a row.

    If there are `pages`, the batch is that of their sequences, `queries` and `keys` are those of
    the longest one, and `before` of each is what `past` says. The row of a key is its place in the
    cache, and that of a query its place among all tokens.
    """

    output: Shape
    batch: int
    heads: int
    key_heads: int
    value_heads: int
    queries: int
    keys: int
    size: int
    width: int
    query_steps: Shape
    key_steps: Shape
    value_steps: Shape
    output_steps: Shape
    query_start: int = 0
    key_start: int = 0
    value_start: int = 0
    scale: float = 1.0
    mask: Shape = ()
    chosen: tuple[float, ...] = ()
    causal: bool = False
    before: int = 0
    window: int = 0
    cap: float = 0.0
    sinks: bool = False
    biased: bool = False
    stored: QuantisedCache | None = None
    pages: Pages | None = None
    shared: bool = False


class CachedAttention(msgspec.Struct, frozen=True):
    """Attention to a cache, to which the keys and values of new tokens are appended before.

    Operands: `query` has a row of `heads` times `size` elements for each of `queries` new tokens in
    each of `batch`; `key` and `value` have rows of `key_heads` times `size`. If `packed`, there is
    `query` alone, whose rows have those of the others at their end. `key_cache` and `value_cache`
    have `room` rows of `size` by batch and head, of which the first `keys` count; they may be
    `stored` as codes. The last `queries` rows that count are written, and the others stay as they
    are. `results` says which result is what: 0 is that of the attention, 1 the cache of keys and 2
    that of values.

    Of each head of queries and new keys, the first `rotated` elements are rotated in pairs: an
    element of their first half and one of their second, or two neighbours if `interleaved`. The
    angles are in the operands `cosines` and `sines`, which have a row of half as many elements for
    each place of a key, or more. If `causal`, a query sees only the keys up to its own place; the
    others of `mask`, `window`, `cap` and `sinks` are those of `Attention`.

    If there are `pages`, rows of queries, keys and values are those of their tokens, the batch is
    that of their sequences, and `queries` and `keys` are those of the longest one. Caches are by
    block, place, head and column then, and `room` is 0.
    """

    output: Shape
    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    room: int
    size: int
    scale: float
    causal: bool
    packed: bool
    results: Shape
    rotated: int = 0
    interleaved: bool = False
    mask: Shape = ()
    window: int = 0
    cap: float = 0.0
    sinks: bool = False
    stored: QuantisedCache | None = None
    pages: Pages | None = None

    @property
    def tokens(self) -> int:
        """How many are new, of all sequences."""
        return self.pages.tokens if self.pages else self.batch * self.queries

    def attention(self) -> Attention:
        """The attention of all queries to what they see of the cache.

        Its operands are `query`, where rotated queries are without keys and values behind them, and
        the caches as `key` and `value`. Keys before the windows of all queries are left out, unless
        there is a mask, which has them, or pages, of which a kernel leaves them out.
        """
        new = self.keys - self.queries
        whole = self.mask or self.pages
        first = max(0, new + 1 - self.window) if self.window and not whole else 0
        seen = self.keys - first
        window = self.window if self.window < seen else 0
        row = self.heads * self.size
        behind = 2 * self.key_heads * self.size if self.packed and not self.rotated else 0
        line = self.size // (self.stored.per_byte if self.stored else 1)
        cache = self.key_heads * self.room * line, self.room * line, line, 1
        by_query = (self.queries * (row + behind), self.size, row + behind, 1)
        by_result = (self.queries * row, self.size, row, 1)
        if self.pages:
            cache = 0, line, self.key_heads * line, 1
            by_query, by_result = (0, *by_query[1:]), (0, *by_result[1:])
        return Attention(
            output=self.output,
            batch=self.batch,
            heads=self.heads,
            key_heads=self.key_heads,
            value_heads=self.key_heads,
            queries=self.queries,
            keys=seen,
            size=self.size,
            width=self.size,
            query_steps=by_query,
            key_steps=cache,
            value_steps=cache,
            output_steps=by_result,
            key_start=first * line,
            value_start=first * line,
            scale=self.scale,
            mask=self.mask,
            causal=self.causal,
            before=new - first if self.causal or window else 0,
            window=window,
            cap=self.cap,
            sinks=self.sinks,
            stored=self.stored,
            pages=self.pages,
        )


class ProjectedAttention(msgspec.Struct, frozen=True):
    """Attention to rows that a product makes.

    Operands: those of `product`, whose result is `query`, `key` and `value` of `attention`, and
    the others of `attention`.
    """

    product: Product
    attention: Attention
