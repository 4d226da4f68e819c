"""A convolution or a transposed one, with its prologue and epilogue, as one call."""

from collections.abc import Mapping

import msgspec
import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Convolution, TransposedConvolution
from benanza_runner.cuda.lowering.products.epilogue import Epilogue
from benanza_runner.cuda.lowering.products.prologue import Prologue
from benanza_runner.cuda.lowering.windows import in_space, transposed_windows, windows
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer

Lowering = tuple[Convolution | TransposedConvolution, dict[str, Array], frozenset[str]]


def lower_convolution(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    kinds = [operator.op_type for operator in layer.operators]
    position = next(n for n, kind in enumerate(kinds) if kind in ("Conv", "ConvTranspose"))
    operator = layer.operators[position]
    x = layer.tensors[operator.inputs[0]].shape
    kernel = layer.tensors[operator.inputs[1]]
    output = layer.tensors[operator.outputs[0]].shape
    if len(x) not in (3, 4, 5):
        raise UnsupportedError(f"convolutions of {len(x) - 2} axes of space are not supported yet")
    if not kernel.constant and len(layer.operators) > 1:
        raise UnsupportedError("a convolution whose filter is no weight is not fused")
    transposed = operator.op_type == "ConvTranspose"
    find = transposed_windows if transposed else windows
    moves = find(operator, x, kernel.shape[2:], output).in_space()
    prologue = Prologue(layer, values, position)
    epilogue = Epilogue(layer, values, channels=output[1], axis=1, product=position)
    filters = values[operator.inputs[1]]
    folds = prologue.folds(padded=any(moves.pads_before + moves.pads_after))
    if folds:
        filters, added = prologue.folded(filters)
        epilogue.add_vector(added)
    if len(operator.inputs) > 2 and operator.inputs[2] != OMITTED:
        epilogue.add(operator.inputs[2])
    epilogue.follow()
    if kernel.constant:
        groups = operator.integer("group", 1) if transposed else 1
        filters = _scaled(filters, epilogue.scale, groups, transposed)
    operands = {"input": values[prologue.input], "filter": filters}
    fixed = frozenset(("filter",) if kernel.constant else ())
    scaled = prologue.scales and not folds
    if scaled:
        operands["scale"] = prologue.scale.astype(np.float32)
        operands["shift"] = prologue.shift.astype(np.float32)
        fixed |= {"scale", "shift"}
    call = (TransposedConvolution if transposed else Convolution)(
        input=in_space(x),
        filter=in_space(kernel.shape),
        output=in_space(output),
        strides=moves.strides,
        dilations=moves.dilations,
        pads_before=moves.pads_before,
        pads_after=moves.pads_after,
        bias=epilogue.has_bias,
        residual=epilogue.residual is not None,
        activation=epilogue.activation.name,
        numbers=epilogue.activation.numbers,
    )
    if isinstance(call, Convolution):
        call = msgspec.structs.replace(call, scaled=scaled, relu_first=prologue.relu)
    return call, operands | epilogue.operands(), fixed | epilogue.weights()


def _scaled(filters: Array, scale: Array, groups: int, transposed: bool) -> Array:
    """A filter of which each channel of the output is multiplied with its number in `scale`."""
    shape = filters.shape
    seen = (groups, shape[0] // groups, *shape[1:]) if transposed else (1, *shape)
    factors = (groups, 1, shape[1]) if transposed else (1, shape[0], 1)
    factor = scale.reshape(*factors, *(1,) * (len(shape) - 2))
    scaled_filters: Array = (filters.reshape(seen).astype(np.float64) * factor).astype(np.float32)
    return scaled_filters.reshape(shape)
