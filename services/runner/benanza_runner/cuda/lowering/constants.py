"""Inputs that decide what an operator does, and that the model has to fix."""

from collections.abc import Mapping

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer


def constants(
    layer: Layer, values: Mapping[int, Array], slot: int
) -> tuple[int | float, ...] | None:
    """The numbers of the first operator's input at this place; None if it is left out.

    Raises `UnsupportedError` if they are computed.
    """
    operator = layer.operators[0]
    if slot >= len(operator.inputs) or operator.inputs[slot] == OMITTED:
        return None
    index = operator.inputs[slot]
    if not layer.tensors[index].constant:
        raise UnsupportedError(f"{operator.op_type} whose input {slot + 1} is computed")
    return tuple(np.ravel(values[index]).tolist())


def whole_constants(layer: Layer, values: Mapping[int, Array], slot: int) -> tuple[int, ...] | None:
    """The same as integers."""
    numbers = constants(layer, values, slot)
    return None if numbers is None else tuple(map(int, numbers))
