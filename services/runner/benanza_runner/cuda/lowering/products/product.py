"""Gemm and MatMul, alone or with what follows them, as one call."""

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Product, Shape
from benanza_runner.cuda.lowering.attributes import integer, number
from benanza_runner.cuda.lowering.products.epilogue import Epilogue
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer

Lowering = tuple[Product, dict[str, Array], frozenset[str]]


def lower_product(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    operator = layer.operators[0]
    first, second = (layer.tensors[index] for index in operator.inputs[:2])
    output = layer.tensors[operator.outputs[0]].shape
    is_gemm = operator.op_type == "Gemm"
    a_transposed = is_gemm and integer(operator, "transA", 0) == 1
    b_transposed = is_gemm and integer(operator, "transB", 0) == 1
    sizes = _sizes(first.shape, second.shape, a_transposed, b_transposed)
    alpha = number(operator, "alpha", 1.0) if is_gemm else 1.0
    if len(second.shape) == 1 and len(layer.operators) > 1:
        raise UnsupportedError("nothing is fused with the product of a matrix and a vector")
    epilogue = Epilogue(layer, values, channels=sizes.n, axis=-1)
    third_factor = number(operator, "beta", 1.0)
    # Of what is added to the product afterwards, if its C isn't.
    beta = 1.0
    if is_gemm and len(operator.inputs) > 2 and operator.inputs[2] != OMITTED and third_factor:
        beta = _add_third(layer, epilogue, sizes, third_factor)
    epilogue.follow()
    b = values[operator.inputs[1]]
    if not np.all(epilogue.scale == 1):
        if not second.constant:
            raise UnsupportedError("a scale is folded into weights only")
        scale = epilogue.scale.reshape(-1, 1) if b_transposed else epilogue.scale
        b = (b.astype(np.float64) * scale).astype(np.float32)
    operands = {"a": values[operator.inputs[0]], "b": b}
    constants = (("a", first.constant), ("b", second.constant))
    call = Product(
        output=output,
        batch=sizes.batch,
        m=sizes.m,
        n=sizes.n,
        k=sizes.k,
        a_transposed=a_transposed,
        b_transposed=b_transposed,
        a_repeated=sizes.a_repeated,
        rounds=sizes.rounds,
        b_constant=second.constant,
        alpha=alpha,
        beta=beta if epilogue.residual is not None else 1.0,
        bias=epilogue.has_bias,
        residual=epilogue.residual is not None,
        activation=epilogue.activation.name,
        numbers=epilogue.activation.numbers,
    )
    weights = frozenset(name for name, constant in constants if constant)
    return call, operands | epilogue.operands(), weights | epilogue.weights()


def _add_third(layer: Layer, epilogue: Epilogue, sizes: "_Sizes", beta: float) -> float:
    """Takes in the C of a Gemm, a row or a whole matrix, and gives the factor left for it."""
    index = layer.operators[0].inputs[2]
    tensor = layer.tensors[index]
    if prod(tensor.shape) in (1, sizes.n) and prod(tensor.shape[:-1]) == 1:
        epilogue.add(index, beta)
        return 1.0
    if tensor.constant:
        epilogue.add_matrix(index, beta)
        return 1.0
    if tensor.shape != (sizes.m, sizes.n):
        raise UnsupportedError("a Gemm whose C is a computed column is not done yet")
    epilogue.add_matrix(index, 1.0)
    return beta


class _Sizes(NamedTuple):
    batch: int
    m: int
    n: int
    k: int
    a_repeated: bool = False
    rounds: int = 1


def _sizes(a: Shape, b: Shape, a_transposed: bool, b_transposed: bool) -> _Sizes:
    """A vector is a matrix of one row, or of one column where it comes second.

    One matrix `b` for matrices `a` that follow each other is a taller product with them all.
    """
    a = a if len(a) > 1 else (1, *a)
    b = b if len(b) > 1 else (*b, 1)
    m, k = (a[-1], a[-2]) if a_transposed else (a[-2], a[-1])
    n = b[-2] if b_transposed else b[-1]
    axes = max(len(a), len(b)) - 2
    firsts, seconds = ((1,) * (axes + 2 - len(shape)) + shape[:-2] for shape in (a, b))
    apart = next((axes - at for at, n in enumerate(reversed(seconds)) if n != 1), 0)
    if firsts[:apart] == seconds[:apart]:
        return _Sizes(prod(seconds), prod(firsts[apart:]) * m, n, k)
    if prod(firsts) == 1:
        return _Sizes(prod(seconds), m, n, k, a_repeated=True)
    first = next(at for at, n in enumerate(seconds) if n != 1)
    if firsts[first:] == seconds[first:]:
        return _Sizes(prod(seconds), m, n, k, rounds=prod(firsts[:first]))
    raise UnsupportedError("a product that repeats matrices in the midst of others")
