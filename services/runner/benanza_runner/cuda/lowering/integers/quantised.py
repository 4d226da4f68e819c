"""A convolution or product between DequantizeLinear and QuantizeLinear, as one call on 8 bits.

With s, t and u as the scales of the input, the weights and the result, the result is
s t / u Σ x w + b / u. t may differ by channel. Input and weights are both integers, or both float8.
Zero points are 0: then nothing depends on padding or on sums of weights, and TensorRT, for one,
takes no others. Sources: ONNX's `DequantizeLinear` and `QuantizeLinear`; TensorRT's documentation,
"Working with Quantized Types".
"""

from collections.abc import Mapping
from math import prod

import numpy as np
from msgspec.structs import replace

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Convolution, EightBitProduct, Quantised
from benanza_runner.cuda.elements import FLOAT8, element
from benanza_runner.cuda.lowering.affine import OPERATORS, Affine
from benanza_runner.cuda.lowering.integers.dequantised import DEQUANTISE, DequantisedInputs, signed
from benanza_runner.cuda.lowering.products.activations import Activation, activation
from benanza_runner.cuda.lowering.windows import in_space, windows
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.onnx_schemas import onnx_dtype
from benanza_schemas.layer import OMITTED, Layer, Operator

Lowering = tuple[Quantised, dict[str, Array], frozenset[str]]

QUANTISE = "QuantizeLinear"
PRODUCTS = frozenset(("Conv", "Gemm", "MatMul"))

WEIGHTS = {"int8": "int8", "uint8": "int8", FLOAT8: FLOAT8}
"""The type of weights that each type of inputs is multiplied with. Those of uint8 are made int8."""


def is_quantised(layer: Layer) -> bool:
    """Whether a layer has one convolution or product, whose factors are both dequantised."""
    if sum(operator.op_type in PRODUCTS for operator in layer.operators) != 1:
        return False
    integers = DequantisedInputs(layer, {})
    return all(integers.source(index) is not None for index in product_of(layer).inputs[:2])


def product_of(layer: Layer) -> Operator:
    """The first convolution or product of a layer that has one."""
    return next(operator for operator in layer.operators if operator.op_type in PRODUCTS)


def with_float_weights(layer: Layer, values: Mapping[int, Array]) -> tuple[Layer, dict[int, Array]]:
    """The layer whose weights are floats already, and its values.

    Raises `UnsupportedError` as lowering does.
    """
    integers, tensors, given = DequantisedInputs(layer, values), list(layer.tensors), dict(values)
    left = []
    for operator in layer.operators:
        if operator.op_type != DEQUANTISE or not tensors[operator.inputs[0]].constant:
            left.append(operator)
            continue
        (output,) = operator.outputs
        weights = integers.dequantised(output)
        shape = tensors[weights.place].shape
        by_axis = [1] * len(shape)
        if weights.scale.size > 1:
            by_axis[weights.axis] = weights.scale.size
        scaled = signed(values[weights.place]).astype(np.float64) * weights.scale.reshape(by_axis)
        given[output] = scaled.reshape(shape).astype(np.float32)
        tensors[output] = replace(tensors[output], constant=True)
    product = product_of(layer)
    for bias in product.inputs[2:3]:  # A QLinearConv has it in the scale of the sums.
        if bias != OMITTED and tensors[bias].dtype == "int32":
            x, w = (integers.dequantised(index) for index in product.inputs[:2])
            factors = x.scale * w.along(0, tensors[bias].shape[0])
            given[bias] = (values[bias].astype(np.float64) * factors).astype(np.float32)
            tensors[bias] = replace(tensors[bias], dtype="float32")
    return replace(layer, tensors=tuple(tensors), operators=tuple(left)), given


def lower_quantised(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    integers = DequantisedInputs(layer, values)
    operator = product_of(layer)
    x, w = (integers.dequantised(index) for index in operator.inputs[:2])
    if x.scale.size != 1:
        raise UnsupportedError("an input with a scale for each channel is not multiplied as it is")
    kind, weights = layer.tensors[x.place].dtype, layer.tensors[w.place]
    multiplied = "int8" if weights.dtype == "uint8" else weights.dtype
    if x.place not in values or w.place not in values:
        raise UnsupportedError(f"no library runs {layer.title()} as one call")
    if kind not in WEIGHTS:
        raise UnsupportedError(f"a quantised product of {kind} is not supported yet")
    if not weights.constant:
        raise UnsupportedError(
            "a quantised product of two computed matrices is not supported yet: quantise the model "
            "in the QDQ format, whose MatMul is measured by itself"
        )
    if multiplied != WEIGHTS[kind]:
        raise UnsupportedError(f"a product of {kind} with weights in {weights.dtype} is not known")
    shape = layer.tensors[operator.outputs[0]].shape
    sums: Convolution | EightBitProduct
    if operator.op_type == "Conv":
        axis, sums = 1, _convolution(layer, operator, x.place, w.place)
        operands = {"input": values[x.place], "filter": signed(values[w.place])}
        by_channel = w.along(0, shape[1])
    else:
        axis, by_row = len(shape) - 1, _by_row(operator) != w.turned
        sums = _product(layer, operator, x.place, w.place, by_row)
        b = signed(values[w.place])
        operands = {"a": values[x.place], "b": b.T if by_row else b}
        by_channel = w.along(0 if by_row else 1, shape[-1])
    factors = by_channel * x.scale * operator.number("alpha", 1.0)
    epilogue = _Epilogue(layer, values, factors, shape, axis)
    if len(operator.inputs) > 2 and operator.inputs[2] != OMITTED:
        epilogue.add_bias(operator.inputs[2], operator.number("beta", 1.0), factors)
    epilogue.follow(operator)
    call, more = epilogue.call(sums, kind)
    operands |= more
    fixed = {"filter", "b", "scale", "bias"} & operands.keys()
    return call, operands, frozenset(fixed)


class _Epilogue:
    """What follows the sums, which are multiplied with these factors by channel, folded."""

    def __init__(
        self,
        layer: Layer,
        values: Mapping[int, Array],
        factors: Array,
        shape: tuple[int, ...],
        axis: int,
    ) -> None:
        self._layer, self._values, self._shape = layer, values, shape
        self._integers = DequantisedInputs(layer, values)
        self._scale = factors
        self._affine = Affine(layer, self._values, shape, shape[axis], axis)
        self._residual: Array | None = None
        self._factor, self._step = 1.0, 1.0
        self._activation = Activation("")
        self._element = ""

    def add_bias(self, index: int, factor: float, sums: Array) -> None:
        """Adds a constant by channel, which may be dequantised, times this factor.

        Integers that aren't dequantised are in the scale of the `sums`, as QLinearConv has them.
        """
        source = self._integers.source(index)
        constant = index if source is None else source.inputs[0]
        if not self._layer.tensors[constant].constant:
            raise UnsupportedError("a bias that is no weight is not fused")
        shape = self._layer.tensors[constant].shape
        if prod(shape[:-1]) != 1 or prod(shape) not in (1, len(sums)):
            raise UnsupportedError("a bias that differs within a channel is not fused")
        bias = self._values[constant].astype(np.float64).reshape(-1)
        if source is not None:
            bias = bias * self._integers.scale(source)
        elif self._layer.tensors[index].dtype == "int32":
            bias = bias * sums
        self._affine.add(bias * factor)

    def follow(self, product: Operator) -> None:
        """Folds the operators behind the product in. Raises `UnsupportedError`."""
        value = product.outputs[0]
        rest = [each for each in self._layer.operators if each.op_type != DEQUANTISE]
        rest = rest[rest.index(product) + 1 :]
        if rest and rest[-1].op_type == QUANTISE:
            *rest, last = rest
            self._quantise(last)
        for place, operator in enumerate(rest):
            if operator.op_type not in OPERATORS:
                self._activation = activation(rest[place:], value, self._layer, self._values)
                if self._activation.name == "PRelu":
                    raise UnsupportedError("a PRelu is not fused with a quantised product")
                return
            self._add(operator, value)
            value = operator.outputs[0]

    def call(
        self, sums: Convolution | EightBitProduct, input_element: str
    ) -> tuple[Quantised, dict[str, Array]]:
        """The call for these sums, and its operands besides the factors."""
        scale, bias = self._affine.scale * self._scale, self._affine.shift
        factor, step = self._factor, self._step
        if self._activation.name in ("", "Relu"):  # They let a positive factor through.
            scale, bias, factor, step = scale * step, bias * step, factor * step, 1.0
        operands = {"scale": scale.astype(np.float32), "bias": bias.astype(np.float32)}
        if self._residual is not None:
            operands["residual"] = self._residual
        kind = "" if self._residual is None else element(onnx_dtype(self._residual.dtype))
        call = Quantised(
            sums,
            input_element,
            element=self._element,
            residual=self._residual is not None,
            residual_element=kind,
            factor=factor,
            activation=self._activation.name,
            numbers=self._activation.numbers,
            step=step,
        )
        return call, operands

    def _quantise(self, operator: Operator) -> None:
        scale = self._integers.scale(operator)
        kind = self._layer.tensors[operator.outputs[0]].dtype
        if scale.size != 1 or kind not in WEIGHTS:
            raise UnsupportedError(f"a quantised product to {kind} by channel is not supported yet")
        if not operator.integer("saturate", 1):
            raise UnsupportedError("a quantised product without saturation is not supported yet")
        self._element, self._step = kind, 1 / float(scale[0])

    def _add(self, operator: Operator, value: int) -> None:
        first, second = (*operator.inputs, OMITTED)[:2]
        other = second if first == value else first
        adds = operator.op_type in ("Add", "Sum") and len(operator.inputs) == 2
        source = self._integers.source(other) if adds else None
        if not adds or (source is None and self._layer.tensors[other].constant):
            if self._residual is not None:
                raise UnsupportedError(f"no library runs {operator.op_type} after a residual")
            self._affine.follow(operator, value)
            return
        added = self._integers.dequantised(other) if source is not None else None
        index = other if added is None else added.place
        if self._residual is not None or index not in self._values:
            raise UnsupportedError(f"no library runs {self._layer.title()} as one call")
        if self._layer.tensors[index].shape != self._shape or self._layer.tensors[index].constant:
            raise UnsupportedError("a residual of another shape is not fused")
        self._residual = self._values[index]
        if added is not None:
            if added.scale.size != 1:
                raise UnsupportedError("a residual with a scale for each channel is not fused")
            self._factor = float(added.scale[0])


def _convolution(layer: Layer, operator: Operator, x: int, w: int) -> Convolution:
    read, filters = layer.tensors[x].shape, layer.tensors[w].shape
    output = layer.tensors[operator.outputs[0]].shape
    if len(read) not in (3, 4, 5):
        raise UnsupportedError(f"convolutions of {len(read) - 2} axes are not supported yet")
    moves = windows(operator, read, filters[2:], output).in_space()
    return Convolution(
        input=in_space(read),
        filter=in_space(filters),
        output=in_space(output),
        strides=moves.strides,
        dilations=moves.dilations,
        pads_before=moves.pads_before,
        pads_after=moves.pads_after,
    )


def _by_row(operator: Operator) -> bool:
    """Whether the weights have a row for each column of the result."""
    return operator.op_type == "Gemm" and operator.integer("transB", 0) == 1


def _product(layer: Layer, operator: Operator, a: int, b: int, by_row: bool) -> EightBitProduct:
    if operator.op_type == "Gemm" and operator.integer("transA", 0):
        raise UnsupportedError("a quantised product of a transposed matrix is not supported yet")
    shape = layer.tensors[b].shape
    if len(shape) != 2 or not layer.tensors[a].shape:
        raise UnsupportedError("a quantised product with several matrices is not supported yet")
    k, n = shape[::-1] if by_row else shape
    return EightBitProduct(
        output=layer.tensors[operator.outputs[0]].shape,
        m=prod(layer.tensors[a].shape) // k,
        n=n,
        k=k,
        a_element=layer.tensors[a].dtype,
        b_element=WEIGHTS[layer.tensors[b].dtype],
    )
