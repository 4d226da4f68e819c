"""Gemm and MatMul, alone or with what follows them, as one call."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from benanza_runner.cuda.attributes import integer, number
from benanza_runner.cuda.calls import Product
from benanza_runner.cuda.epilogue import Epilogue
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer

Array = npt.NDArray[Any]
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
    batch, m, n, k = _sizes(first.shape, second.shape, a_transposed, b_transposed)
    alpha = number(operator, "alpha", 1.0) if is_gemm else 1.0
    epilogue = Epilogue(layer, values, channels=n, axis=-1)
    if is_gemm and len(operator.inputs) > 2:
        shape = layer.tensors[operator.inputs[2]].shape
        if prod(shape) not in (1, n) or prod(shape[:-1]) != 1:
            raise UnsupportedError("a Gemm whose C is a whole matrix is not done yet")
        epilogue.add(values[operator.inputs[2]] * number(operator, "beta", 1.0))
    epilogue.follow()
    b = values[operator.inputs[1]]
    if not np.all(epilogue.scale == 1):
        if not second.constant:
            raise UnsupportedError("a scale is folded into weights only")
        scale = epilogue.scale.reshape(-1, 1) if b_transposed else epilogue.scale
        b = (b.astype(np.float64) * scale).astype(np.float32)
    operands = {"a": values[operator.inputs[0]], "b": b}
    call = Product(
        output=output,
        batch=batch,
        m=m,
        n=n,
        k=k,
        a_transposed=a_transposed,
        b_transposed=b_transposed,
        b_constant=second.constant,
        alpha=alpha,
        bias=epilogue.has_bias,
        residual=epilogue.residual is not None,
        activation=epilogue.activation,
    )
    weights = {"bias"} | ({"b"} if second.constant else set())
    return call, operands | epilogue.operands(), frozenset(weights)


def _sizes(
    a: tuple[int, ...], b: tuple[int, ...], a_transposed: bool, b_transposed: bool
) -> tuple[int, int, int, int]:
    """Pairs, m, n and k. One matrix `b` for many `a` is a single, taller product."""
    if len(a) < 2 or len(b) < 2:
        raise UnsupportedError("a product with a vector is not done yet")
    m, k = (a[-1], a[-2]) if a_transposed else (a[-2], a[-1])
    n = b[-2] if b_transposed else b[-1]
    if prod(b[:-2]) == 1:
        return 1, prod(a[:-2]) * m, n, k
    if a[:-2] != b[:-2]:
        raise UnsupportedError("a product that repeats a batch of matrices is not done yet")
    return prod(a[:-2]), m, n, k
