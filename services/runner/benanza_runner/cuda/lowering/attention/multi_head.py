"""ONNX Runtime's MultiHeadAttention as an attention to queries, keys and values where they lie.

Source: the operator's definition in ONNX Runtime.
"""

from collections.abc import Mapping
from math import sqrt

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Attention, Shape
from benanza_runner.cuda.lowering.attention.masks import key_mask
from benanza_runner.cuda.lowering.written_out.writing import given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.packed_heads import is_packed
from benanza_schemas.layer import OMITTED, Layer, Operator

Lowering = tuple[Attention, dict[str, Array], frozenset[str]]

MULTI_HEAD = "MultiHeadAttention"
"""The operator, in the domain `com.microsoft`."""

NAMES = {"query": 0, "key": 1, "value": 2}

OPERANDS_BIAS, MASK, BIAS = 3, 4, 5
"""The places of the bias of queries, keys and values, of the mask of keys, and of what is added to
scores.
"""

_REFUSED = {
    6: "former keys and values",
    7: "former keys and values",
    8: "former keys and values",
    9: "keys of other sequences",
}
"""What an input is, by its place, that no call here takes."""


def lower_multi_head(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Queries, keys and values are each by batch, token and column of all heads; keys and values also
    by batch, head, token and column. Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    if is_packed(layer, operator):
        return _packed(layer, operator, values)
    _check(layer, operator)
    query, key, value = (layer.tensors[index].shape for index in operator.inputs[:3])
    batch, queries, wide = query
    heads = operator.integer("num_heads")
    keys, columns = key[-2], value[-1] if len(value) == 4 else value[-1] // heads
    causal = bool(operator.integer("unidirectional", 0)) and queries > 1
    if causal and queries != keys:
        raise _refused("causal queries behind other keys")
    read = {name: operator.inputs[place] for name, place in NAMES.items()}
    mask, chosen, index = key_mask(layer, operator, (MASK, BIAS), (batch, heads, queries, keys))
    read |= {"mask": index} if mask else {}
    call = Attention(
        output=layer.tensors[operator.outputs[0]].shape,
        batch=batch,
        heads=heads,
        key_heads=heads,
        value_heads=heads,
        queries=queries,
        keys=keys,
        size=wide // heads,
        width=columns,
        query_steps=_steps(query, heads),
        key_steps=_steps(key, heads),
        value_steps=_steps(value, heads),
        output_steps=_steps((batch, queries, heads * columns), heads),
        scale=operator.number("scale", 0.0) or 1 / sqrt(wide // heads),
        mask=mask,
        chosen=chosen,
        causal=causal,
        biased=given(operator, OPERANDS_BIAS),
    )
    weights = {name for name, place in read.items() if layer.tensors[place].constant}
    operands = {name: values[place] for name, place in read.items()}
    if call.biased:
        bias = operator.inputs[OPERANDS_BIAS]
        if not layer.tensors[bias].constant:
            raise _refused("a computed bias")
        added = values[bias][2 * wide :]
        if len(key) == 4:
            # ONNX Runtime adds no bias to what has its heads apart; its documents don't say so.
            added = np.zeros_like(added)
        # That of the keys adds the same to all scores of a query, and changes no softmax.
        operands |= {"query_bias": values[bias][:wide], "value_bias": added}
        weights |= {"query_bias", "value_bias"}
    return call, operands, frozenset(weights)


def _packed(layer: Layer, operator: Operator, values: Mapping[int, Array]) -> Lowering:
    """Keys and values, and perhaps queries, of one operand by batch, token, head, kind, column."""
    read = [index for index in operator.inputs if index != OMITTED]
    batch, keys, heads, kinds, columns = layer.tensors[read[-1]].shape
    queries = layer.tensors[read[0]].shape[1]
    row = heads * kinds * columns
    steps = keys * row, kinds * columns, row, 1
    whole = (batch, queries, heads * columns)
    causal = bool(operator.integer("unidirectional", 0)) and queries > 1
    if causal and queries != keys:
        raise _refused("causal queries behind other keys")
    call = Attention(
        output=layer.tensors[operator.outputs[0]].shape,
        batch=batch,
        heads=heads,
        key_heads=heads,
        value_heads=heads,
        queries=queries,
        keys=keys,
        size=columns,
        width=columns,
        query_steps=_steps(whole, heads) if len(read) > 1 else steps,
        key_steps=steps,
        value_steps=steps,
        output_steps=_steps(whole, heads),
        key_start=(kinds - 2) * columns,
        value_start=(kinds - 1) * columns,
        scale=operator.number("scale", 0.0) or 1 / sqrt(columns),
        causal=causal,
    )
    places = dict(zip(NAMES, (read[0], read[-1], read[-1]), strict=True))
    fixed = {name for name, place in places.items() if layer.tensors[place].constant}
    return call, {name: values[place] for name, place in places.items()}, frozenset(fixed)


def _check(layer: Layer, operator: Operator) -> None:
    for place, name in _REFUSED.items():
        if given(operator, place):
            raise _refused(name)
    if len(layer.outputs) > 1 or any(result != OMITTED for result in operator.outputs[1:]):
        raise _refused("several outputs")
    read = operator.inputs[:3]
    if OMITTED in read or len(read) < 3 or any(len(layer.tensors[i].shape) > 4 for i in read):
        raise _refused("packed keys and other inputs")


def _steps(shape: Shape, heads: int) -> Shape:
    """The strides by batch, head, row and column of what lies by batch, row and column of all
    heads, or by batch, head, row and column.
    """
    if len(shape) == 4:
        _, _, rows, columns = shape
        return shape[1] * rows * columns, rows * columns, columns, 1
    _, rows, wide = shape
    return rows * wide, wide // heads, wide, 1


def _refused(name: str) -> UnsupportedError:
    return UnsupportedError(f"a {MULTI_HEAD} with {name} is not supported yet")
