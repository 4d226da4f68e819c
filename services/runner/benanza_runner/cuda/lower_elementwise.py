"""Element-wise operators, one or a whole chain, as one generated kernel."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from benanza_runner.cuda.calls import Elementwise, Operand
from benanza_runner.cuda.epilogue import normalisation
from benanza_runner.cuda.expressions import expression, is_elementwise
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

Array = npt.NDArray[Any]
Lowering = tuple[Elementwise, dict[str, Array], frozenset[str]]
FLOATS = frozenset(("float32", "float16", "bfloat16"))


def lower_elementwise(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    A batch normalisation is a factor and a shift, folded here. Raises `UnsupportedError`
    where an operator isn't element-wise.
    """
    if len(layer.outputs) != 1:
        raise UnsupportedError(f"{layer.title()} with several outputs is not done yet")
    return _Kernel(layer, values).lowered()


class _Kernel:
    def __init__(self, layer: Layer, values: Mapping[int, Array]) -> None:
        self._layer = layer
        self._values = values
        self._output = layer.tensors[layer.outputs[0]].shape
        self._operands: list[Operand] = []
        self._arrays: dict[str, Array] = {}
        self._weights: set[str] = set()
        self._names: dict[int, str] = {OMITTED: ""}
        self._statements: list[str] = []

    def lowered(self) -> Lowering:
        for operator in self._layer.operators:
            written = f"t{len(self._statements)}"
            self._statements.append(f"float {written} = {self._expression(operator)};")
            self._names[operator.outputs[0]] = written
        call = Elementwise(
            output=self._output,
            operands=tuple(self._operands),
            statements=tuple(self._statements),
            result=self._names[self._layer.outputs[0]],
        )
        return call, self._arrays, frozenset(self._weights)

    def _expression(self, operator: Operator) -> str:
        if self._layer.tensors[operator.outputs[0]].dtype not in FLOATS:
            raise UnsupportedError(f"{operator.op_type} of integers is not done yet")
        if operator.op_type == "BatchNormalization":
            factor, mean, shift = normalisation(operator, self._values)
            channel = (factor.size, *(1,) * (len(self._output) - 2))
            scale = self._operand(factor.reshape(channel), constant=True)
            offset = self._operand((shift - mean * factor).reshape(channel), constant=True)
            return f"{self._name(operator.inputs[0])} * {scale} + {offset}"
        if not is_elementwise(operator):
            raise UnsupportedError(f"no library here runs {self._layer.title()}")
        return expression(operator, [self._name(index) for index in operator.inputs])

    def _name(self, index: int) -> str:
        if index not in self._names:
            tensor = self._layer.tensors[index]
            if tensor.dtype not in FLOATS:
                raise UnsupportedError(f"element-wise operators on {tensor.dtype} are not done yet")
            self._names[index] = self._operand(self._values[index], constant=tensor.constant)
        return self._names[index]

    def _operand(self, array: Array, *, constant: bool) -> str:
        name = f"in{len(self._operands)}"
        shape = (1,) * (len(self._output) - array.ndim) + array.shape
        axes = tuple(axis for axis, size in enumerate(shape) if size != 1)
        if axes and axes != tuple(range(axes[0], axes[-1] + 1)):
            # An axis of one in the midst of others is no gap if the output's is one too.
            axes = tuple(range(axes[0], axes[-1] + 1))
        if any(shape[axis] != self._output[axis] for axis in axes):
            raise UnsupportedError("a broadcast along axes that are apart is not done yet")
        self._operands.append(Operand(array.shape, axes))
        self._arrays[name] = array.astype(np.float32, copy=False)
        if constant:
            self._weights.add(name)
        return name
