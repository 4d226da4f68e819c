"""Element-wise operators, one after the other: one call, with the others as what follows in it."""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cpu_libraries.onednn.activations import FUNCTIONS, functions
from benanza_runner.cpu_libraries.onednn.attributes import (
    Applied,
    Attributes,
    Combined,
    Operation,
    ValueFunction,
)
from benanza_runner.cpu_libraries.onednn.memory import Memory, Shape
from benanza_runner.cpu_libraries.onednn.plan import (
    FIRST,
    INFERENCE,
    WHICHEVER,
    Operands,
    Plan,
    plans,
)
from benanza_runner.cpu_libraries.onednn.primitive import Argument, ways
from benanza_runner.cuda.lowering.affine import normalisation
from benanza_runner.cuda.lowering.products.activations import activation
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

OPERATIONS = {
    "Add": Operation.ADD,
    "Div": Operation.DIV,
    "Max": Operation.MAX,
    "Min": Operation.MIN,
    "Mul": Operation.MUL,
    "Sub": Operation.SUB,
}
TURNED = {
    "Div": (Applied(ValueFunction.POW, 1.0, -1.0), Operation.MUL),
    "Sub": (Applied(ValueFunction.LINEAR, -1.0), Operation.ADD),
}
"""What is done where the value is the second operand: a function of it, and an operation."""

POWERS = {2.0: Applied(ValueFunction.SQUARE), 0.5: Applied(ValueFunction.SQRT)}
"""Powers that are functions of their own, which take less time."""

LONGEST_GATE = 3


def elementwise_plans(
    layer: Layer, values: Mapping[int, Array], operands: Operands, layout: str
) -> Iterator[Plan]:
    """The implementations of a chain of operators, of which each reads what the one before wrote,
    with feature maps in this layout. They may have any, unless one is repeated or padded: to
    compute the padding takes time, too.

    `operands` holds the layer's inputs by position. Raises `UnsupportedError` and `OneDnnError`.
    """
    chain = _Chain(layer, values, operands)
    yield from chain.plans(layout)


class _Operand(NamedTuple):
    """What a step reads, in ONNX's shape, and whether the model fixes it."""

    array: Array
    fixed: bool


class _Chain:
    """The steps of a chain, and what goes through them."""

    def __init__(self, layer: Layer, values: Mapping[int, Array], operands: Operands) -> None:
        self._layer, self._values, self._operands = layer, values, operands
        self._output = layer.tensors[layer.outputs[0]].shape
        if any(layer.tensors[i].dtype != "float32" for i in (*layer.inputs(), *layer.outputs)):
            raise UnsupportedError("element-wise operators of integers are not asked for yet")
        self._steps: list[Applied | tuple[Operation, _Operand]] = []
        self._value = self._source()
        self._first = self._operand(self._value)
        left = layer.operators
        while left:
            left = left[self._follow(left) :]

    def plans(self, layout: str) -> Iterator[Plan]:
        """The implementations in this layout, or in any."""
        others = [step[1] for step in self._steps if not isinstance(step, Applied)]
        shape = self._output or (1,)
        repeated = any(1 < other.array.size < prod(shape) for other in others)
        if repeated or self._operands.pads(shape):
            reads = [each.array.shape for each in (self._first, *others) if not each.fixed]
            takes = self._operands.takes
            maps = tuple(r for r in reads if len(r) == len(shape) and takes(r, layout))
            yield from self._plans(shape, layout, maps)
        elif layout == FIRST:
            for plan in self._plans((prod(shape),), layout, ()):
                yield plan._replace(layout=WHICHEVER)

    def _plans(self, shape: Shape, layout: str, reads: tuple[Shape, ...]) -> Iterator[Plan]:
        """The implementations for results of this shape."""
        onednn = self._operands.onednn
        x = self._memory(self._first, shape, layout)
        first, *after = (
            step
            if isinstance(step, Applied)
            else Combined(step[0], self._memory(step[1], shape, layout))
            for step in self._steps
        )
        attributes = Attributes(onednn, tuple(after))
        result = self._operands.described(shape, layout)
        memories: dict[int, Memory] = {Argument.SOURCE: x}
        if isinstance(first, Applied):
            numbers = ctypes.c_float(first.alpha), ctypes.c_float(first.beta)
            function = int(first.function), x.descriptor, result, *numbers
            found = ways(onednn, "eltwise_forward", attributes, INFERENCE, *function)
            kind = "eltwise"
        else:
            operation = int(first.operation), x.descriptor, first.other.descriptor, result
            found = ways(onednn, "binary", attributes, *operation)
            kind = "binary"
            memories[Argument.SECOND] = first.other
        yield from plans(self._operands, kind, found, attributes, memories, (shape, layout), reads)

    def _memory(self, operand: _Operand, shape: Shape, layout: str) -> Memory:
        """An operand with as many axes as the result."""
        array = operand.array
        if array.size in (1, prod(shape)):
            array = array.reshape(shape if array.size > 1 else (1,) * len(shape))
        seen = (1,) * (len(shape) - array.ndim) + array.shape
        layout = layout if self._operands.takes(seen, layout) else FIRST
        return self._operands.laid_out(array.reshape(seen), layout)

    def _operand(self, index: int) -> _Operand:
        return _Operand(self._values[index], self._layer.tensors[index].constant)

    def _source(self) -> int:
        """The input that goes through the chain: the first that is as large as the result."""
        sizes = self._layer.tensors
        for index in self._layer.operators[0].inputs:
            if index != OMITTED and sizes[index].shape == self._output:
                return index
        raise UnsupportedError("oneDNN doesn't repeat the first operand")

    def _follow(self, operators: Sequence[Operator]) -> int:
        """Adds the steps of the first operators, and returns how many they are."""
        for count in range(min(LONGEST_GATE, len(operators)), 0, -1):
            try:
                made = activation(operators[:count], self._value, self._layer, self._values)
                steps = functions(made.name, made.numbers)
            except UnsupportedError:
                continue
            if made.name and operators[0].inputs[0] == self._value:
                self._steps += steps
                self._value = operators[count - 1].outputs[0]
                return count
        self._add(operators[0])
        self._value = operators[0].outputs[0]
        return 1

    def _add(self, operator: Operator) -> None:
        op_type, inputs = operator.op_type, operator.inputs
        if inputs.count(self._value) != 1:
            raise UnsupportedError(f"oneDNN runs {self._layer.title()} as several calls")
        if op_type in FUNCTIONS and len(inputs) == 1:
            self._steps += functions(op_type, ())
        elif op_type == "BatchNormalization" and inputs[0] == self._value:
            factor, mean, shift = normalisation(operator, self._values)
            axes = (-1, *(1,) * (len(self._output) - 2))
            for operation, vector in (
                (Operation.MUL, factor),
                (Operation.ADD, shift - mean * factor),
            ):
                by_channel = vector.reshape(axes).astype(np.float32)
                self._steps.append((operation, _Operand(by_channel, fixed=True)))
        elif op_type in OPERATIONS and len(inputs) == 2 and not operator.domain:
            self._combine(op_type, inputs)
        elif op_type == "Pow" and inputs[0] == self._value and self._is_number(inputs[1]):
            power = float(self._values[inputs[1]].item())
            self._steps.append(POWERS.get(power, Applied(ValueFunction.POW, 1.0, power)))
        else:
            raise UnsupportedError(f"oneDNN has no {op_type} for a chain of operators")

    def _combine(self, op_type: str, inputs: Sequence[int]) -> None:
        operation, other = OPERATIONS[op_type], inputs[1]
        if inputs[0] != self._value:
            other = inputs[0]
            if op_type in TURNED:
                function, operation = TURNED[op_type]
                self._steps.append(function)
        if other not in self._values:
            raise UnsupportedError(f"oneDNN runs {self._layer.title()} as several calls")
        self._steps.append((operation, self._operand(other)))

    def _is_number(self, index: int) -> bool:
        """Whether a tensor is one number that is known."""
        return self._layer.tensors[index].value is not None and self._values[index].size == 1
