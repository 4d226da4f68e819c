"""What an operator's deciding inputs say."""

import numpy as np

from benanza_schemas.layer import OMITTED, Layer, Operator


def elements(layer: Layer, operator: Operator, position: int) -> tuple[int, ...] | None:
    """The integers in an input that decides what the operator does; None if they aren't known."""
    if position >= len(operator.inputs) or operator.inputs[position] == OMITTED:
        return None
    tensor = layer.tensors[operator.inputs[position]]
    if tensor.value is None or tensor.dtype not in ("int32", "int64"):
        return None
    little_endian = np.dtype(tensor.dtype).newbyteorder("<")
    return tuple(np.frombuffer(tensor.value, little_endian).tolist())
