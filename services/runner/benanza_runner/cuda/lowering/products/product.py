"""Gemm, MatMul and Einsum as one call, alone or with an epilogue.

Operands are read where they are in the layer's inputs, and the result is written where it is to be,
by strides. The libraries hence need no Transpose, Slice or Expand before a product, and no
Transpose after it.
"""

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Product
from benanza_runner.cuda.lowering.products.epilogue import Epilogue
from benanza_runner.cuda.lowering.products.places import places
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

Lowering = tuple[Product, dict[str, Array], frozenset[str]]

PRODUCTS = frozenset(("Einsum", "Gemm", "MatMul"))


def is_product(layer: Layer) -> bool:
    """Whether a layer has one product, whose operands may have been moved before."""
    return sum(operator.op_type in PRODUCTS for operator in layer.operators) == 1


def lower_product(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    position = next(
        n for n, candidate in enumerate(layer.operators) if candidate.op_type in PRODUCTS
    )
    operator, after = layer.operators[position], layer.operators[position + 1 :]
    is_gemm = operator.op_type == "Gemm"
    place = places(layer, position)
    product, shape = place.found, layer.tensors[operator.outputs[0]].shape
    of_vector = len(layer.tensors[operator.inputs[1]].shape) == 1
    if after and not place.moved and of_vector:
        raise UnsupportedError("nothing is fused with the product of a matrix and a vector")
    channels = shape[-1] if shape and not of_vector else 1
    epilogue = Epilogue(layer, values, channels, axis=-1, product=position)
    third_factor = operator.number("beta", 1.0)
    # The factor of a residual: that of the Gemm's C, or 1 for one that is added later.
    beta = 1.0
    if is_gemm and len(operator.inputs) > 2 and operator.inputs[2] != OMITTED and third_factor:
        beta = _add_third(layer, operator, epilogue, shape, third_factor)
    if not place.moved:
        epilogue.follow()
    if epilogue.has_bias and (place.turned or product.n != channels):
        raise UnsupportedError("a bias is added to each row of a product only")
    if epilogue.residual is not None and (place.turned or place.moved):
        raise UnsupportedError("nothing is added to a product that is written elsewhere")
    first, second = place.sources
    b = values[second]
    if not np.all(epilogue.scale == 1):
        if not layer.tensors[second].constant or place.turned or product.n != channels:
            raise UnsupportedError("a scale is folded into weights only")
        by_row = is_gemm and operator.integer("transB", 0) == 1
        scale = epilogue.scale.reshape(-1, 1) if by_row else epilogue.scale
        b = (b.astype(np.float64) * scale).astype(np.float32)
    call = replace(
        product,
        b_constant=layer.tensors[second].constant,
        alpha=operator.number("alpha", 1.0) if is_gemm else 1.0,
        beta=beta if epilogue.residual is not None else 1.0,
        bias=epilogue.has_bias,
        residual=epilogue.residual is not None,
        activation=epilogue.activation.name,
        numbers=epilogue.activation.numbers,
        moved=place.shapes,
    )
    fixed = [name for name, index in (("a", first), ("b", second)) if layer.tensors[index].constant]
    operands = {"a": values[first], "b": b} | epilogue.operands()
    return call, operands, frozenset(fixed) | epilogue.weights()


def _add_third(
    layer: Layer, gemm: Operator, epilogue: Epilogue, shape: tuple[int, ...], beta: float
) -> float:
    """Adds the C of a Gemm, a row or a whole matrix. Returns the factor that is left for it."""
    index = gemm.inputs[2]
    tensor = layer.tensors[index]
    if np.prod(tensor.shape) in (1, shape[-1]) and np.prod(tensor.shape[:-1]) == 1:
        epilogue.add(index, beta)
        return 1.0
    if tensor.constant:
        epilogue.add_matrix(index, beta)
        return 1.0
    if tensor.shape != shape:
        raise UnsupportedError("a Gemm whose C is a computed column is not supported yet")
    epilogue.add_matrix(index, 1.0)
    return beta
