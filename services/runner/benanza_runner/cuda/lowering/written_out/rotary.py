"""Rotary embeddings: pairs of elements of each head, rotated by angles of their position.

A pair is an element of the first half and one of the second half of what is rotated, or two
neighbours. Sources: the definitions of RotaryEmbedding in ONNX and in ONNX Runtime; Su et al.,
"RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021.
"""

from math import prod

from benanza_runner.cuda.lowering.written_out.writing import Writing, given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Operator


def own_rotary(writing: Writing, operator: Operator) -> None:
    """`RotaryEmbedding` of ONNX Runtime, whose rows of the tables are named by positions.

    Raises `UnsupportedError`.
    """
    if operator.integer("is_packed_batching", 0):
        raise UnsupportedError("RotaryEmbedding of packed sequences is not supported yet")
    if operator.number("scale", 1.0) != 1:
        raise UnsupportedError("RotaryEmbedding with a scale is not supported yet")
    _, positions, *tables = operator.inputs
    if writing.shape(positions) == (1,) and _tokens(writing, operator) > 1:
        raise UnsupportedError("RotaryEmbedding from one position on is not supported yet")
    _rotate(writing, operator, (tables[0], tables[1]), positions)


def standard_rotary(writing: Writing, operator: Operator) -> None:
    """ONNX's `RotaryEmbedding`; without positions, its tables have a row for each token."""
    tables = operator.inputs[1], operator.inputs[2]
    _rotate(writing, operator, tables, operator.inputs[3] if given(operator, 3) else None)


def _tokens(writing: Writing, operator: Operator) -> int:
    return writing.shape(operator.inputs[0])[-2]


def _rotate(
    writing: Writing, operator: Operator, tables: tuple[int, int], positions: int | None
) -> None:
    x, half = operator.inputs[0], writing.shape(tables[0])[-1]
    shape, tokens = writing.shape(x), _tokens(writing, operator)
    by_head = shape
    if len(shape) == 3:
        heads = operator.integer("num_heads", 0) or shape[-1] // (2 * half)
        by_head = (*shape[:2], heads, shape[-1] // heads)
    interleaved = operator.integer("interleaved", 0)
    ends = (half, 1) if interleaved else (half,)

    def angles(table: int) -> int:
        """The cosines or sines of each token, as they are multiplied."""
        rows = table
        if positions is not None:
            named = (*writing.shape(positions), half)
            rows = writing.add("Gather", 13, (table, positions), shape=named)
        batch = prod(writing.shape(rows)) // (tokens * half)
        axes = (tokens, 1) if len(shape) == 3 else (1, tokens)
        return writing.reshape(rows, (batch, *axes, *ends))

    cosines, sines = angles(tables[0]), angles(tables[1])
    rest = by_head[-1] - 2 * half
    seen = x if by_head == shape else writing.reshape(x, by_head)
    pairs, *more = writing.split(seen, (2 * half, rest) if rest else (2 * half,))
    if interleaved:
        apart = writing.reshape(pairs, (*by_head[:-1], half, 2))
        first, second = writing.split(apart, (1, 1))
    else:
        first, second = writing.split(pairs, (half, half))
    real = _combined(writing, "Sub", (first, cosines), (second, sines))
    imaginary = _combined(writing, "Add", (first, sines), (second, cosines))
    rotated = (*by_head[:-1], 2 * half)
    both = (*by_head[:-1], half, 2) if interleaved else rotated
    joined = writing.add("Concat", 13, (real, imaginary), shape=both, axis=-1)
    if interleaved:
        joined = writing.reshape(joined, rotated)
    if more:
        joined = writing.add("Concat", 13, (joined, *more), shape=by_head, axis=-1)
    writing.reshape(joined, shape, operator.outputs[0])


def _combined(writing: Writing, op_type: str, one: tuple[int, int], other: tuple[int, int]) -> int:
    """Writes the sum or the difference of two products."""
    products = writing.add("Mul", 14, one), writing.add("Mul", 14, other)
    return writing.add(op_type, 14, products)
