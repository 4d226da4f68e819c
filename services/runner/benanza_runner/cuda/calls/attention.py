"""The call that computes attention."""

import msgspec

from benanza_runner.cuda.calls.shape import Shape


class Attention(msgspec.Struct, frozen=True):
    """`softmax(scale · query · keyᵀ + mask) · value`, for each of `heads` in each of `batch`.

    Operands: `query` has matrices of `queries` rows of `size` elements, `key` of `keys` rows of
    `size`, `value` of `keys` rows of `width`; the result has `queries` rows of `width`. All are
    contiguous, and may have their axes in any order: `…_steps` are their strides in elements, by
    batch, head, row and column. `key` has `key_heads`, each of which serves equally many heads that
    follow each other; the same holds for `value` and `value_heads`.

    The operand `mask`, if there is one, has the shape `mask`: batch, heads, queries and keys, each
    of which may be one. If `causal`, a query sees only the keys up to its own place. `output` is
    the shape that the layer gives the result.
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
    scale: float = 1.0
    mask: Shape = ()
    causal: bool = False
