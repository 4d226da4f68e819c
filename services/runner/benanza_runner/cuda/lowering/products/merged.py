"""Products of one operand with several weights, such as queries, keys and values, as one call."""

from collections.abc import Mapping

import msgspec
import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import MergedProduct, Product
from benanza_runner.cuda.lowering.products.product import lower_product
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Operator

Lowering = tuple[MergedProduct, dict[str, Array], frozenset[str]]

PRODUCTS = frozenset(("Gemm", "MatMul"))


def is_merged_product(layer: Layer) -> bool:
    """Whether several results of a layer are each a product of the same tensor."""
    products = [operator for operator in layer.operators if operator.op_type in PRODUCTS]
    same = len({operator.inputs[0] for operator in products}) == 1
    return same and len(products) == len(layer.outputs) > 1


def lower_merged_product(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError` where the products differ in size or in what follows them.
    """
    lowered = [lower_product(_alone(layer, output), values) for output in layer.outputs]
    products = {call for call, _, _ in lowered}
    if len(products) > 1:
        raise UnsupportedError("products of different sizes are not merged")
    (product,) = products
    if not _can_be_merged(product):
        raise UnsupportedError("products of batches, or with more than a bias, are not merged")
    first = lowered[0][1]
    operands = {"a": first["a"]}
    for name in ("b", "bias"):
        if name in first:
            operands[name] = np.stack([arrays[name] for _, arrays, _ in lowered])
    weights = frozenset(operands) - {"a"}
    return MergedProduct(product, len(lowered)), operands, weights


def _alone(layer: Layer, output: int) -> Layer:
    """The layer of one result: its product, and what follows."""
    writers = {index: operator for operator in layer.operators for index in operator.outputs}
    chain: list[Operator] = []
    pending = [output]
    while pending:
        operator = writers.get(pending.pop())
        if operator is not None:
            chain.insert(0, operator)
            pending.extend(operator.inputs)
    if [operator.op_type in PRODUCTS for operator in chain] != [True] + [False] * (len(chain) - 1):
        raise UnsupportedError(f"{layer.title()} is more than products and what follows each")
    return msgspec.structs.replace(layer, operators=tuple(chain), outputs=(output,))


def _can_be_merged(product: Product) -> bool:
    plain = not product.residual and not product.activation and not product.a.transposed
    return plain and product.b_constant and product.batch == product.rounds == 1
