"""Attention as one call: a group of operators, or ONNX's own operator.

In a group keys come transposed, as a product wants them, unless their Transpose is in it; what
is fixed of scales and masks is put together here.
"""

from collections.abc import Mapping
from itertools import pairwise
from math import prod, sqrt

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Attention, Shape
from benanza_runner.cuda.elements import FLOATS
from benanza_runner.cuda.lowering.attributes import integer, integers, number
from benanza_runner.cuda.lowering.products.scores import Scores, batch_and_heads, factor
from benanza_runner.cuda.lowering.products.strides import VIEWS, contiguous, reshaped, seen, steps
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

Lowering = tuple[Attention, dict[str, Array], frozenset[str]]


def is_attention(layer: Layer) -> bool:
    """Whether a layer is a group of operators with a softmax between two products."""
    names = [operator.op_type for operator in layer.operators]
    return names.count("MatMul") == 2 and "Softmax" in names


def lower_attention(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call for such a group, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    shapes = [tensor.shape for tensor in layer.tensors]
    operators = layer.operators
    names = [operator.op_type for operator in operators]
    first, softmax = names.index("MatMul"), names.index("Softmax")
    last = names.index("MatMul", first + 1)
    _check(layer, first, softmax, last)
    query, transposed = operators[first].inputs
    value = operators[last].inputs[1]
    scores, output = shapes[operators[first].outputs[0]], shapes[operators[last].outputs[0]]
    if prod(scores[:-2]) != prod(output[:-2]):
        raise UnsupportedError("an attention whose scores are repeated is not done yet")
    lead = batch_and_heads(output)
    key, scale = transposed, 1.0
    keys = contiguous(shapes[transposed])
    if first:
        key = _source(operators[0], layer)
        keys, scale = _prepared(layer, values, operators[:first], key)
    scaled = Scores(layer, values, scale, scores)
    for operator in operators[first + 1 : softmax]:
        scaled.follow(operator)
    placed = _placed(contiguous(shapes[query]), scores, lead)
    placed_keys = _placed(keys.swapaxes(-1, -2), scores, lead)
    placed_values = _placed(contiguous(shapes[value]), output, lead)
    result = contiguous(shapes[layer.outputs[0]])
    for operator in operators[last + 1 :]:
        order = integers(operator, "perm", tuple(reversed(range(result.ndim))))
        result = result.transpose(np.argsort(order))
    mask, mask_shape, fixed = scaled.operand(lead)
    call = _call(
        layer, placed, placed_keys, placed_values, reshaped(result, (*lead, *output[-2:])),
        scale=scaled.scale, mask=mask_shape,
    )  # fmt: skip
    operands = {"query": values[query], "key": values[key], "value": values[value]}
    weights = {
        name
        for name, index in (("query", query), ("key", key), ("value", value))
        if layer.tensors[index].constant
    }
    if mask is not None:
        operands["mask"] = mask
        weights |= {"mask"} if fixed else set()
    return call, operands, frozenset(weights)


def _check(layer: Layer, first: int, softmax: int, last: int) -> None:
    """Raises `UnsupportedError` unless the operators are the chain that ingest looks for."""
    operators = layer.operators
    for at, (before, after) in enumerate(pairwise(operators), start=1):
        places = [slot for slot, index in enumerate(after.inputs) if index in before.outputs]
        product = after.op_type == "MatMul"
        if len(places) != 1 or (product and places != [1 if at == first else 0]):
            raise UnsupportedError(f"{layer.title()} is wired otherwise than attention")
    if not first < softmax < last or any(
        operator.op_type not in allowed
        for some, allowed in (
            (operators[softmax + 1 : last], VIEWS),
            (operators[last + 1 :], ("Transpose",)),
        )
        for operator in some
    ):
        raise UnsupportedError(f"{layer.title()} is more than attention")
    operator = operators[softmax]
    axis = integer(operator, "axis", 1 if operator.version < 13 else -1)
    shapes = [layer.tensors[index].shape for at in (first, last) for index in operators[at].inputs]
    rank = len(layer.tensors[operator.outputs[0]].shape)
    if axis % rank != rank - 1:
        raise UnsupportedError("an attention whose softmax is over no keys")
    if any(len(shape) < 2 for shape in shapes):
        raise UnsupportedError("an attention of vectors is not done yet")


def lower_attention_operator(
    layer: Layer, values: Mapping[int, Array]
) -> tuple[Attention, dict[str, Array]]:
    """The call for ONNX's Attention, versions 23 and 24, without a cache.

    Raises `UnsupportedError`.
    """
    operator = layer.operators[0]
    given = (*operator.inputs, *(OMITTED,) * 7)
    if any(index != OMITTED for index in given[4:6]):
        raise UnsupportedError("an Attention with past keys and values is not done yet")
    if given[6] != OMITTED:
        raise UnsupportedError("an Attention with a number of keys that count is not done yet")
    if number(operator, "softcap", 0.0):
        raise UnsupportedError("an Attention that caps its scores is not done yet")
    shapes = [layer.tensors[index].shape for index in given[:3]]
    heads, key_heads = integer(operator, "q_num_heads", 0), integer(operator, "kv_num_heads", 0)
    query, key, value = (
        _by_head(contiguous(shape), count)
        for shape, count in zip(shapes, (heads, key_heads, key_heads), strict=True)
    )
    result = _by_head(contiguous(layer.tensors[operator.outputs[0]].shape), heads)
    operands = {"query": values[given[0]], "key": values[given[1]], "value": values[given[2]]}
    causal = bool(integer(operator, "is_causal", 0))
    mask_shape: Shape = ()
    if given[3] != OMITTED:
        mask = layer.tensors[given[3]]
        if mask.dtype not in FLOATS:
            raise UnsupportedError(f"an Attention whose mask is {mask.dtype} is not done yet")
        mask_shape = (1,) * (4 - len(mask.shape)) + mask.shape
        whole = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        if any(size not in (1, full) for size, full in zip(mask_shape, whole, strict=True)):
            raise UnsupportedError("an Attention whose mask lacks keys is not done yet")
        operands["mask"] = values[given[3]]
    scale = number(operator, "scale", 1 / sqrt(query.shape[3]))
    call = _call(layer, query, key, value, result, scale=scale, mask=mask_shape, causal=causal)
    return call, operands


def _call(
    layer: Layer, query: Array, key: Array, value: Array, result: Array, *,
    scale: float, mask: Shape, causal: bool = False,
) -> Attention:  # fmt: skip
    """Of four arrays by batch, head, row and column; heads that are repeated are one."""
    batch, heads, queries, size = query.shape
    key, value = (
        each[:, :1] if heads > 1 and each.strides[1] == 0 else each for each in (key, value)
    )
    return Attention(
        output=layer.tensors[layer.outputs[0]].shape,
        batch=batch,
        heads=heads,
        key_heads=key.shape[1],
        value_heads=value.shape[1],
        queries=queries,
        keys=key.shape[2],
        size=size,
        width=value.shape[3],
        query_steps=steps(query),
        key_steps=steps(key),
        value_steps=steps(value),
        output_steps=steps(result),
        scale=scale,
        mask=mask,
        causal=causal,
    )


def _by_head(array: Array, heads: int) -> Array:
    """By batch, head, row and column: with three axes, columns of all heads lie in one row."""
    if array.ndim == 4:
        return array
    batch, rows, columns = array.shape
    return array.reshape(batch, rows, heads, columns // heads).transpose(0, 2, 1, 3)


def _placed(array: Array, product: Shape, lead: Shape) -> Array:
    """Matrices as a product of this shape reads them, by batch and head."""
    whole = np.broadcast_to(array, (*product[:-2], *array.shape[-2:]))
    return reshaped(whole, (*lead, *array.shape[-2:]))


def _source(operator: Operator, layer: Layer) -> int:
    """What an operator reads that prepares keys: a scale may come before them."""
    first = operator.inputs[0]
    if operator.op_type == "Mul" and layer.tensors[first].constant:
        return operator.inputs[1]
    return first


def _prepared(
    layer: Layer, values: Mapping[int, Array], operators: tuple[Operator, ...], key: int
) -> tuple[Array, float]:
    """Where the keys are in memory, and what they are multiplied with."""
    array, scale, value = contiguous(layer.tensors[key].shape), 1.0, key
    for operator in operators:
        shape = layer.tensors[operator.outputs[0]].shape
        if operator.op_type in ("Mul", "Div"):
            scale *= factor(layer, values, operator, value)
            array = reshaped(array, shape)
        else:
            array = seen(array, operator, shape)
        value = operator.outputs[0]
    return array, scale
