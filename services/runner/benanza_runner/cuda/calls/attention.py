"""The call that computes attention."""

import msgspec

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
    of which may be one. If there are two numbers `chosen`, it has bools: the first number is added
    where it is True, the second one where it is False. If `causal`, a query sees only the keys up
    to its own place; `before` keys stand before that of the first query. The result of a query that
    sees no key is zero. `output` is the shape that the layer gives the result.
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
