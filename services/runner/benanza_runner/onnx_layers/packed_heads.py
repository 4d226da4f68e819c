"""MultiHeadAttention of packed queries, keys and values, which ONNX Runtime runs on GPUs alone.

Source: the operator's definition in ONNX Runtime.
"""

from collections.abc import Mapping
from math import sqrt

import numpy as np

from benanza_runner.arrays import Array
from benanza_schemas.layer import OMITTED, Layer, Operator

PACKED_AXES = 5
"""By batch, token, head, which of queries, keys and values, and column."""

PACKED_INPUTS = {2: 2, 3: 1}
"""How many inputs there are, by how many are packed into one."""


def is_packed(layer: Layer, operator: Operator) -> bool:
    """Whether a MultiHeadAttention reads packed keys and values, and nothing besides queries."""
    if operator.op_type != "MultiHeadAttention":
        return False
    shapes = [layer.tensors[index].shape for index in operator.inputs if index != OMITTED]
    return len(shapes[-1]) == PACKED_AXES and len(shapes) == PACKED_INPUTS.get(shapes[-1][3], 0)


def attended(layer: Layer, values: Mapping[int, Array]) -> list[Array]:
    """What the layer's result is, as float32."""
    (operator,) = layer.operators
    *first, packed = (values[index].astype(np.float64) for index in operator.inputs)
    heads, columns = packed.shape[2], packed.shape[-1]
    parts = list(np.moveaxis(packed, 3, 0))
    if first:
        parts.insert(0, first[0].reshape(*first[0].shape[:2], heads, columns))
    query, key, value = (np.moveaxis(part, 2, 1) for part in parts)
    scores = query @ np.swapaxes(key, -1, -2)
    scores *= operator.number("scale", 0.0) or 1 / sqrt(columns)
    if operator.integer("unidirectional", 0):
        scores[..., np.triu(np.ones(scores.shape[-2:]), 1) > 0] = -np.inf
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result = powers / powers.sum(axis=-1, keepdims=True) @ value
    shape = layer.tensors[operator.outputs[0]].shape
    return [np.moveaxis(result, 1, 2).reshape(shape).astype(np.float32)]
