"""A layer to the one call that runs it, with the operands of that call."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy.typing as npt

from benanza_runner.cuda.calls import Call
from benanza_runner.cuda.lower_convolution import lower_convolution
from benanza_runner.cuda.lower_elementwise import FLOATS, lower_elementwise
from benanza_runner.cuda.lower_movement import MOVEMENTS
from benanza_runner.cuda.lower_product import lower_product
from benanza_runner.cuda.lower_reductions import REDUCTIONS
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer

Array = npt.NDArray[Any]


class Lowered(NamedTuple):
    """A call, and its operands by the names that the call gives them, in ONNX's layout.

    `weights` names those that the model fixes.
    """

    call: Call
    operands: dict[str, Array]
    weights: frozenset[str]


def reads(lowered: Lowered, values: Mapping[int, Array]) -> dict[str, int]:
    """Which of the layer's inputs, by position, each operand is that is no weight.

    Raises `UnsupportedError` where an operand was computed from an input.
    """
    positions = {id(array): position for position, array in values.items()}
    found = {}
    for name, array in lowered.operands.items():
        if name not in lowered.weights:
            if id(array) not in positions:
                raise UnsupportedError(f"the operand {name} is not an input as it comes")
            found[name] = positions[id(array)]
    return found


Lower = Callable[[Layer, Mapping[int, Array]], Lowered]

_CHAINS: dict[str, Lower] = {
    "Conv": lambda layer, values: Lowered(*lower_convolution(layer, values)),
    "Gemm": lambda layer, values: Lowered(*lower_product(layer, values)),
    "MatMul": lambda layer, values: Lowered(*lower_product(layer, values)),
}
_SINGLE = MOVEMENTS | REDUCTIONS


def lower(layer: Layer, values: Mapping[int, Array]) -> Lowered:
    """The call for a layer whose inputs have these values, by their positions.

    What is computed from weights alone is computed here: batch normalisations after a
    convolution go into its filter and bias. Raises `UnsupportedError`.
    """
    first = layer.operators[0]
    if any(operator.domain for operator in layer.operators):
        raise UnsupportedError(f"{layer.title()} is no operator of the standard")
    other = next((t.dtype for t in layer.tensors if t.value is None and t.dtype not in FLOATS), "")
    if other:
        raise UnsupportedError(f"{layer.title()} with {other} is not done yet")
    if first.op_type in _CHAINS:
        return _CHAINS[first.op_type](layer, values)
    if len(layer.operators) == 1 and first.op_type in _SINGLE:
        call, operands = _SINGLE[first.op_type](layer, values)
        return Lowered(call, operands, frozenset())
    return Lowered(*lower_elementwise(layer, values))
