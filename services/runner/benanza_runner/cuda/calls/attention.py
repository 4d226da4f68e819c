"""The calls that compute attention."""

import msgspec

from benanza_runner.cuda.calls.compute import Product
from benanza_runner.cuda.calls.shape import Shape


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
    shared: bool = False


class CachedAttention(msgspec.Struct, frozen=True):
    """Attention to a cache, to which the keys and values of new tokens are appended before.

    Operands: `query` has a row of `heads` times `size` elements for each of `queries` new tokens in
    each of `batch`; `key` and `value` have rows of `key_heads` times `size`. If `packed`, there is
    `query` alone, whose rows have those of the others at their end. `key_cache` and `value_cache`
    have `keys` rows of `size` by batch and head. Their last `queries` rows are written, and the
    others stay as they are. `results` says which result is what: 0 is that of the attention, 1 the
    cache of keys and 2 that of values.

    Of each head of queries and new keys, the first `rotated` elements are rotated in pairs: an
    element of their first half and one of their second, or two neighbours if `interleaved`. The
    angles are in the operands `cosines` and `sines`, which have a row of half as many elements for
    each place of a key, or more. If `causal`, a query sees only the keys up to its own place; the
    others of `mask`, `window`, `cap` and `sinks` are those of `Attention`.
    """

    output: Shape
    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
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

    def attention(self) -> Attention:
        """The attention of all queries to what they see of the cache.

        Its operands are `query`, where rotated queries are without keys and values behind them, and
        the caches as `key` and `value`. Keys before the windows of all queries are left out, unless
        there is a mask, which has them.
        """
        new = self.keys - self.queries
        first = max(0, new + 1 - self.window) if self.window and not self.mask else 0
        seen = self.keys - first
        window = self.window if self.window < seen else 0
        row = self.heads * self.size
        behind = 2 * self.key_heads * self.size if self.packed and not self.rotated else 0
        cache = self.key_heads * self.keys * self.size, self.keys * self.size, self.size, 1
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
            query_steps=(self.queries * (row + behind), self.size, row + behind, 1),
            key_steps=cache,
            value_steps=cache,
            output_steps=(self.queries * row, self.size, row, 1),
            key_start=first * self.size,
            value_start=first * self.size,
            scale=self.scale,
            mask=self.mask,
            causal=self.causal,
            before=new - first if self.causal or window else 0,
            window=window,
            cap=self.cap,
            sinks=self.sinks,
        )


class ProjectedAttention(msgspec.Struct, frozen=True):
    """Attention to rows that a product makes.

    Operands: those of `product`, whose result is `query`, `key` and `value` of `attention`, and
    the others of `attention`.
    """

    product: Product
    attention: Attention
