"""Attention that multiplies by its weights itself: ONNX Runtime's Attention.

A product makes rows of queries, keys and values, which an attention reads where they lie. Source:
the operator's definition in ONNX Runtime.
"""

from collections.abc import Mapping
from math import sqrt

from msgspec.structs import replace

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Attention, Product, ProjectedAttention
from benanza_runner.cuda.lowering.attention.masks import key_mask
from benanza_runner.cuda.lowering.products.product import lower_product
from benanza_runner.cuda.lowering.written_out.writing import Writing, given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Operator

Lowering = tuple[ProjectedAttention, dict[str, Array], frozenset[str]]

PROJECTED = "Attention"
"""The operator, in the domain `com.microsoft`."""

MASK, PAST, BIAS, LENGTH = 3, 4, 5, 6
"""The places of its inputs behind the product's."""


def lower_projected_attention(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    _check(layer, operator)
    product, operands, fixed = _product(layer, operator, values)
    batch, tokens, _ = layer.tensors[operator.inputs[0]].shape
    heads, wide = operator.integer("num_heads"), product.n
    query, key, value = operator.integers("qkv_hidden_sizes") or (wide // 3,) * 3
    size, width = query // heads, value // heads
    scores = batch, heads, tokens, tokens
    mask, chosen, index = key_mask(layer, operator, (MASK, BIAS), scores)
    if mask:
        operands["mask"] = values[index]
        fixed |= {"mask"} if layer.tensors[index].constant else set()
    rows = tokens * wide
    attention = Attention(
        output=layer.tensors[layer.outputs[0]].shape,
        batch=batch,
        heads=heads,
        key_heads=heads,
        value_heads=heads,
        queries=tokens,
        keys=tokens,
        size=size,
        width=width,
        query_steps=(rows, size, wide, 1),
        key_steps=(rows, size, wide, 1),
        value_steps=(rows, width, wide, 1),
        output_steps=(tokens * value, width, value, 1),
        key_start=query,
        value_start=query + key,
        scale=operator.number("scale", 0.0) or 1 / sqrt(size),
        mask=mask,
        chosen=chosen,
        causal=bool(operator.integer("unidirectional", 0)),
    )
    return ProjectedAttention(product, attention), operands, fixed


def _check(layer: Layer, operator: Operator) -> None:
    if given(operator, PAST) or given(operator, LENGTH) or len(layer.outputs) > 1:
        raise _refused("former keys and values")
    if not given(operator, 2):  # ONNX Runtime's on the CPU, which is compared with, wants one
        raise UnsupportedError(
            f"an {PROJECTED} of ONNX Runtime without a bias is not supported yet"
        )
    if operator.integer("do_rotary", 0):
        raise _refused("a rotation")


def _product(
    layer: Layer, operator: Operator, values: Mapping[int, Array]
) -> tuple[Product, dict[str, Array], frozenset[str]]:
    """The product with the weights and the bias."""
    writing = Writing(layer)
    x, weights = operator.inputs[:2]
    shape = (*writing.shape(x)[:-1], writing.shape(weights)[-1])
    made = writing.add("MatMul", 13, (x, weights), shape=shape)
    made = writing.add("Add", 14, (made, operator.inputs[2]))
    alone = replace(
        layer,
        tensors=tuple(writing.tensors),
        operators=tuple(writing.operators),
        outputs=(made,),
    )
    return lower_product(alone, values)


def _refused(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"an {PROJECTED} of ONNX Runtime with {name} is not supported yet: publish the model as it "
        "was before its attention was fused"
    )
