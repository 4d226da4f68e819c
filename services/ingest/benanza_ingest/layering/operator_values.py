"""What an operator's attributes and deciding inputs say."""

from collections.abc import Sequence

import numpy as np

from benanza_schemas.layer import OMITTED, AttributeValue, Layer, Operator


def attribute(operator: Operator, name: str) -> AttributeValue | None:
    """The value of an attribute; None where the operator doesn't have it."""
    return next((a.value for a in operator.attributes if a.name == name), None)


def number(operator: Operator, name: str) -> int:
    """The whole number that is an attribute's value; 0 where there is none."""
    found = attribute(operator, name)
    return found if isinstance(found, int) else 0


def ints(operator: Operator, name: str) -> tuple[int, ...]:
    """The whole numbers that are an attribute's value; none where there is none."""
    found = attribute(operator, name)
    return tuple(v for v in found if isinstance(v, int)) if isinstance(found, tuple) else ()


def elements(layer: Layer, operator: Operator, position: int) -> Sequence[int] | None:
    """The elements of an input that decides what the operator does."""
    if position >= len(operator.inputs) or operator.inputs[position] == OMITTED:
        return None
    tensor = layer.tensors[operator.inputs[position]]
    if tensor.value is None or tensor.dtype not in ("int32", "int64"):
        return None
    return [int(each) for each in np.frombuffer(tensor.value, tensor.dtype)]
