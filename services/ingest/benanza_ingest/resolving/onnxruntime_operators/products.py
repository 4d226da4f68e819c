"""Results of products of matrices."""

from benanza_ingest.resolving.onnxruntime_operators.own_node import (
    OwnNode,
    Rule,
    Shape,
    UnknownResultError,
    broadcast,
)


def product(left: Shape, right: Shape) -> Shape:
    """As NumPy's matmul has it. Raises `ValueError` if the operands don't fit."""
    if not left or not right:
        raise ValueError("an operand of a product of matrices is one number")
    rows = left if len(left) > 1 else (1, *left)
    columns = right if len(right) > 1 else (*right, 1)
    if rows[-1] != columns[-2]:
        raise ValueError(f"{left} and {right} don't fit together")
    outer = broadcast(rows[:-2], columns[:-2]) if len(rows) + len(columns) > 4 else ()
    ends = (rows[-2],) * (len(left) > 1) + (columns[-1],) * (len(right) > 1)
    return (*outer, *ends)


def of_inputs(left: int, right: int) -> Rule:
    """The product of these two inputs."""
    return lambda node: [product(node.shape(left), node.shape(right))]


def transposed(left: int, right: int) -> Rule:
    """The product of matrices that `transA` and `transB` may transpose."""

    def rule(node: OwnNode) -> list[Shape]:
        a = _operand(node.shape(left), node, "A")
        return [product(a, _operand(node.shape(right), node, "B"))]

    return rule


def _operand(shape: Shape, node: OwnNode, name: str) -> Shape:
    if node.number(f"transBatch{name}") and len(shape) > 2:
        shape = (*shape[1:-1], shape[0], shape[-1])
    if node.number(f"trans{name}") and len(shape) > 1:
        shape = (*shape[:-2], shape[-1], shape[-2])
    return shape


def packed(node: OwnNode) -> list[Shape]:
    """The weights are packed: their sizes are attributes."""
    k, n = node.number("K"), node.number("N")
    if node.op_type == "MatMulBnb4" and not node.number("transB", 1):
        k, n = n, k
    return [(*_outer(node, k), n)]


def _outer(node: OwnNode, inner: int) -> Shape:
    x = node.shape(0)
    if x[-1] != inner:
        raise ValueError(f"{x} has no rows of {inner}")
    return x[:-1]


def fp4(node: OwnNode) -> list[Shape]:
    """The weights' shape is an input."""
    return [product(node.shape(0), tuple(node.numbers(2)))]


def first_rank_2(node: OwnNode) -> list[Shape]:
    """GemmFloat8 and others of two matrices."""
    if len(node.shape(0)) != 2:
        raise UnknownResultError("its first input is no matrix")
    return list(transposed(0, 1)(node))


def rows_of(weights: int) -> Rule:
    """The product with a matrix [N, ...] in blocks of quantised numbers."""
    return lambda node: [(*node.shape(0)[:-1], node.shape(weights)[0])]


def several(*columns: str) -> Rule:
    """Products with packed weights, whose columns attributes count; and what they are made of."""

    def rule(node: OwnNode) -> list[Shape]:
        outer = _outer(node, node.number("K"))
        return [*((*outer, node.number(name)) for name in columns), node.shape(0)]

    return rule


RULES: dict[str, Rule] = {
    "DynamicQuantizeMatMul": of_inputs(0, 1),
    "FusedGemm": transposed(0, 1),
    "FusedMatMul": transposed(0, 1),
    "FusedMatMulActivation": transposed(0, 1),
    "GemmFastGelu": of_inputs(0, 1),
    "GemmFloat8": first_rank_2,
    "MatMulBlockQuantizedFp4Weight": rows_of(1),
    "MatMulBlockQuantizedFp8Weight": rows_of(1),
    "MatMulBnb4": packed,
    "MatMulFpQ4": fp4,
    "MatMulInteger16": of_inputs(0, 1),
    "MatMulIntegerToFloat": of_inputs(0, 1),
    "MatMulNBits": packed,
    "MatMulNBitsMlp": several("N"),
    "MatMulNBitsQkv": several("Nq", "Nkv", "Nkv"),
    "QGemm": transposed(0, 3),
    "QOrderedMatMul": of_inputs(0, 2),
    "SparseToDenseMatMul": transposed(0, 1),
    "TransposeMatMul": transposed(0, 1),
}
