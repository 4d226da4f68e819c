"""One element-wise operator, or a whole chain of them, as one generated kernel."""

from collections.abc import Mapping, Sequence

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Elementwise, Operand
from benanza_runner.cuda.elements import FLOAT8, INDEX, element, variable
from benanza_runner.cuda.lowering.affine import OPERATORS, Affine, normalisation
from benanza_runner.cuda.lowering.elementwise import (
    expressions,
    integer_expressions,
    logic,
    quantisation,
)
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.onnx_schemas import onnx_dtype
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.table import facts_of

POWERS = {2.0: "{0} * {0}", 3.0: "{0} * {0} * {0}", 0.5: "sqrtf({0})", -0.5: "1.0f / sqrtf({0})"}
"""Powers that take fewer instructions than `powf`."""

Lowering = tuple[Elementwise, dict[str, Array], frozenset[str]]


def is_chain(layer: Layer) -> bool:
    """Whether a layer has element-wise operators only, and one result."""
    return len(layer.outputs) == 1 and all(map(_is_elementwise, layer.operators))


def _is_elementwise(operator: Operator) -> bool:
    facts = facts_of(operator.op_type, operator.domain)
    return facts.region == "element-wise" or operator.op_type == "Identity"


def lower_elementwise(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    A batch normalisation is folded into a factor and a shift, and so are several operators in a row
    that scale and shift by channel. Raises `UnsupportedError` if an operator isn't element-wise.
    """
    if len(layer.outputs) != 1:
        raise UnsupportedError(f"{layer.title()} with several outputs is not supported yet")
    kernel = ElementwiseKernel(layer, values)
    left = layer.operators
    while left:
        folded = kernel.fold(left)
        if not folded:
            kernel.apply(left[0])
        left = left[folded or 1 :]
    return kernel.lowered()


class ElementwiseKernel:
    """An element-wise call under construction, for the only output of a layer."""

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
        """The call, its operands, and the names of those that are weights."""
        alone = len(self._layer.operators) == 1 and not self._layer.operators[0].domain
        call = Elementwise(
            output=self._output,
            operands=tuple(self._operands),
            statements=tuple(self._statements),
            result=self._names[self._layer.outputs[0]],
            element=self._element(self._layer.outputs[0]),
            operator=self._layer.operators[0].op_type if alone else "",
        )
        return call, self._arrays, frozenset(self._weights)

    def fold(self, operators: Sequence[Operator]) -> int:
        """Adds one statement for the first operators if several of them scale and shift a value by
        channel, with weights. Returns how many they are; zero if there are fewer than two.
        """
        first = value = self._only_value(operators[0])
        if value == OMITTED or self._layer.tensors[value].shape != self._output:
            return 0
        if len(self._output) < 2 or self._element(value):
            return 0
        affine = Affine(self._layer, self._values, self._output, channels=self._output[1], axis=1)
        count = 0
        for operator in operators:
            if operator.op_type not in OPERATORS or operator.inputs.count(value) != 1:
                break
            if operator.op_type == "BatchNormalization" and not self._is_fixed(operator):
                break
            try:
                with np.errstate(all="ignore"):
                    affine.follow(operator, value)
            except UnsupportedError:
                break
            count += 1
            value = operator.outputs[0]
            readers = sum(other.inputs.count(value) for other in operators)
            if readers != 1 or value not in operators[count].inputs:
                break
        if count < 2 or not _fits(affine.scale, affine.shift):
            return 0
        self.write(value, self._scaled(first, affine.scale, affine.shift))
        return count

    def _only_value(self, operator: Operator) -> int:
        """The input that is no weight, if there is only one; else `OMITTED`."""
        inputs = [
            i for i in operator.inputs if i != OMITTED and not self._layer.tensors[i].constant
        ]
        return inputs[0] if len(inputs) == 1 else OMITTED

    def apply(self, operator: Operator) -> None:
        """Adds the statement of an operator."""
        self.write(operator.outputs[0], self._expression(operator))

    def write(self, output: int, expression: str) -> None:
        """Adds a statement that computes the tensor of this position."""
        written = f"t{len(self._statements)}"
        self._statements.append(f"{variable(self._element(output))} {written} = {expression};")
        self._names[output] = written

    def name(self, index: int) -> str:
        """The variable that holds the tensor of this position."""
        if index not in self._names:
            constant = self._layer.tensors[index].constant
            self._names[index] = self.operand(self._values[index], constant=constant)
        return self._names[index]

    def operand(self, array: Array, *, constant: bool, shape: tuple[int, ...] = ()) -> str:
        """The variable that holds an element of an operand, read as if it had this shape."""
        name = f"in{len(self._operands)}"
        kind = element(onnx_dtype(array.dtype))
        shape = shape or array.shape
        full = (1,) * (len(self._output) - len(shape)) + shape
        axes = tuple(axis for axis, size in enumerate(full) if size != 1)
        if len(full) != len(self._output) or any(full[a] != self._output[a] for a in axes):
            raise UnsupportedError("an operand that is larger than the result is not supported yet")
        self._operands.append(Operand(shape, axes, kind))
        if not kind and array.dtype != np.float32:
            array = array.astype(np.float32)
        self._arrays[name] = array
        if constant:
            self._weights.add(name)
        return name

    def index(self, axis: int) -> str:
        """The variable that holds an element's place on this axis of the output."""
        name = f"in{len(self._operands)}"
        self._operands.append(Operand((self._output[axis],), (axis,), INDEX))
        return name

    def _element(self, index: int) -> str:
        return element(self._layer.tensors[index].dtype)

    def _expression(self, operator: Operator) -> str:
        op_type = operator.op_type
        if op_type == "BatchNormalization":
            return self._normalised(operator)
        if op_type in ("QuantizeLinear", "DequantizeLinear"):
            return self._rescaled(operator)
        inputs = operator.inputs[:1] if op_type in logic.CONVERSIONS else operator.inputs
        written = self._element(operator.outputs[0])
        if op_type in logic.OPERATORS and not operator.domain:
            read = self._element(inputs[0])
            return logic.expression(operator, [self.name(index) for index in inputs], read, written)
        if not expressions.is_elementwise(operator):
            if not integer_expressions.is_known(op_type):
                raise UnsupportedError(
                    f"no library here runs {self._layer.title()} on a GPU: --runtime onnxruntime "
                    "measures it on a CPU"
                )
        elif not written and op_type == "Pow" and self._power(operator) in POWERS:
            return POWERS[self._power(operator)].format(self.name(inputs[0]))
        elif not written:
            names = [self.name(index) for index in inputs]
            floats = [
                f"(float){name}" if name and self._element(index) else name
                for index, name in zip(inputs, names, strict=True)
            ]
            return expressions.expression(operator, floats)
        if not written or not integer_expressions.is_known(op_type):
            kind = self._layer.tensors[operator.outputs[0]].dtype
            raise UnsupportedError(f"{op_type} of {kind} is not supported yet")
        if any(index != OMITTED and not self._element(index) for index in inputs):
            raise UnsupportedError(f"{op_type} of floats and integers is not supported yet")
        return integer_expressions.expression(operator, [self.name(index) for index in inputs])

    def _power(self, operator: Operator) -> float:
        """The exponent of a Pow, if it is one number that is known; else 1."""
        index = operator.inputs[1]
        known = self._layer.tensors[index].value is not None and self._values[index].size == 1
        return float(self._values[index].item()) if known else 1.0

    def _is_fixed(self, operator: Operator) -> bool:
        """Whether all parameters of a batch normalisation are weights."""
        return all(self._layer.tensors[index].constant for index in operator.inputs[1:5])

    def _normalised(self, operator: Operator) -> str:
        if not self._is_fixed(operator):
            raise UnsupportedError(
                "a batch normalisation with computed statistics is not supported yet"
            )
        factor, mean, shift = normalisation(operator, self._values)
        return self._scaled(operator.inputs[0], factor, shift - mean * factor)

    def _rescaled(self, operator: Operator) -> str:
        """A QuantizeLinear or DequantizeLinear: one scale for all, or one for each channel."""
        if operator.integer("block_size", 0):
            raise UnsupportedError(f"{operator.op_type} by blocks is not supported yet")
        if not operator.integer("saturate", 1):
            raise UnsupportedError(f"{operator.op_type} without saturation is not supported yet")
        reads = operator.op_type == "DequantizeLinear"
        kind = self._layer.tensors[(operator.inputs if reads else operator.outputs)[0]].dtype
        value = self.name(operator.inputs[0])
        axis = operator.integer("axis", 1) % len(self._output) if self._output else 0
        scale, zero = (*operator.inputs[1:], OMITTED)[:2]
        by_scale = self._along(scale, axis)
        from_zero = "" if kind == FLOAT8 else self._along(zero, axis)
        change = quantisation.dequantised if reads else quantisation.quantised
        return change(value, by_scale, from_zero, kind)

    def _along(self, index: int, axis: int) -> str:
        """The variable that holds a number, or the one for the place on this axis of the output."""
        if index == OMITTED or self._layer.tensors[index].shape in ((), (1,)):
            return self.name(index)
        array = self._values[index]
        shape = (array.size, *(1,) * (len(self._output) - 1 - axis))
        return self.operand(array, constant=self._layer.tensors[index].constant, shape=shape)

    def _scaled(self, value: int, factor: Array, shift: Array) -> str:
        """A value times a factor and plus a shift, both by channel."""
        scale, offset = (
            self.operand(self._by_channel(vector), constant=True) for vector in (factor, shift)
        )
        return f"{self.name(value)} * {scale} + {offset}"

    def _by_channel(self, vector: Array) -> Array:
        """As an operand: one number if it is the same for all channels."""
        numbers = vector[:1] if (vector == vector[0]).all() else vector
        return numbers.reshape(numbers.size, *(1,) * (len(self._output) - 2)).astype(np.float32)


def _fits(scale: Array, shift: Array) -> bool:
    """Whether both are in the range of float16, and no factor is subnormal there."""
    most, least = (float(limit) for limit in (np.finfo(np.float16).max, np.finfo(np.float16).tiny))
    sizes = np.abs(scale[scale != 0])
    largest = max(np.abs(scale).max(), np.abs(shift).max())
    return bool(largest <= most and (sizes >= least).all())
