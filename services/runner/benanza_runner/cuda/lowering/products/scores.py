"""What happens to the scores of attention before their softmax."""

from collections.abc import Mapping
from math import prod

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.lowering.products.strides import VIEWS
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Operator


def batch_and_heads(shape: Shape) -> Shape:
    """Two numbers for the axes before those of the matrices."""
    return (prod(shape[:-3]), shape[-3]) if len(shape) > 2 else (1, 1)


def factor(layer: Layer, values: Mapping[int, Array], operator: Operator, value: int) -> float:
    """What an operator multiplies a value with. Raises `UnsupportedError`."""
    first = operator.inputs[0] == value
    other = operator.inputs[1] if first else operator.inputs[0]
    divides = operator.op_type == "Div"
    if not layer.tensors[other].constant or values[other].size != 1 or (divides and not first):
        raise UnsupportedError(f"an attention whose {operator.op_type} is by no fixed number")
    found = float(values[other].reshape(-1)[0])
    return 1 / found if divides else found


class Scores:
    """What happens to scores before their softmax: `scale · scores + fixed + computed`."""

    def __init__(
        self, layer: Layer, values: Mapping[int, Array], scale: float, scores: Shape
    ) -> None:
        self._layer = layer
        self._values = values
        self.scale = scale
        self._shape = scores
        self._fixed: Array | None = None
        self._computed: int | None = None

    def follow(self, operator: Operator) -> None:
        """Takes in the next operator. Raises `UnsupportedError`."""
        shape = self._layer.tensors[operator.outputs[0]].shape
        if operator.op_type in ("Mul", "Div"):
            self._multiply(operator)
        elif operator.op_type == "Add":
            self._add(operator)
        elif operator.op_type in VIEWS:
            if self._computed is not None and shape != self._shape:
                raise UnsupportedError("scores that are seen otherwise after a computed mask")
            if self._fixed is not None and shape != self._shape:
                self._fixed = np.broadcast_to(self._fixed, self._shape).reshape(shape)
        else:
            raise UnsupportedError(f"{operator.op_type} within attention is not done yet")
        self._shape = shape

    def operand(self, lead: Shape) -> tuple[Array | None, Shape, bool]:
        """The mask, if there is one, its shape by batch and head, and whether it is fixed."""
        if self._computed is not None:
            shape = self._layer.tensors[self._computed].shape
            full = (1,) * (len(self._shape) - len(shape)) + shape
            if prod(full[:-3]) not in (1, lead[0]) or lead != batch_and_heads(self._shape):
                raise UnsupportedError("a computed mask that is repeated in the midst of others")
            return self._values[self._computed], (*batch_and_heads(full), *full[-2:]), False
        if self._fixed is None:
            return None, (), True
        full = (1,) * (len(self._shape) - self._fixed.ndim) + self._fixed.shape
        fixed = self._fixed.reshape(full)
        as_it_is = prod(full[:-3]) in (1, lead[0]) and lead == batch_and_heads(self._shape)
        if not as_it_is:
            fixed = np.broadcast_to(fixed, self._shape).reshape(*lead, *self._shape[-2:])
        fixed = fixed.reshape(*batch_and_heads(fixed.shape), *fixed.shape[-2:])
        return np.ascontiguousarray(fixed, np.float32), fixed.shape, True

    def _multiply(self, operator: Operator) -> None:
        if self._computed is not None:
            raise UnsupportedError("an attention that scales a computed mask is not done yet")
        by = factor(self._layer, self._values, operator, self._scores(operator))
        self.scale *= by
        if self._fixed is not None:
            self._fixed = self._fixed * by

    def _add(self, operator: Operator) -> None:
        scores = self._scores(operator)
        other = next((index for index in operator.inputs if index != scores), scores)
        if self._layer.tensors[other].constant:
            mask = self._values[other].astype(np.float64)
            self._fixed = mask if self._fixed is None else self._fixed + mask
        elif self._computed is not None:
            raise UnsupportedError("an attention with two computed masks is not done yet")
        else:
            self._computed = other
        if self._computed is not None and self._fixed is not None:
            raise UnsupportedError("an attention with a fixed and a computed mask is not done yet")

    def _scores(self, operator: Operator) -> int:
        """Which input of an operator the scores are: what is written within the group."""
        written = {index for each in self._layer.operators for index in each.outputs}
        return next(index for index in operator.inputs if index in written)
