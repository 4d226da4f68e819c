"""Operators that order or add up elements along one axis."""

from collections.abc import Callable, Mapping
from math import prod

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Accumulation, Call, Ranking
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.lowering.attributes import integer
from benanza_runner.cuda.lowering.constants import whole_constants
from benanza_schemas.layer import Layer

Lowering = tuple[Call, dict[str, Array]]
Lower = Callable[[Layer, Mapping[int, Array]], Lowering]


def _accumulation(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    operator = layer.operators[0]
    x = layer.tensors[operator.inputs[0]]
    axis = (whole_constants(layer, values, 1) or (0,))[0] % len(x.shape)
    call = Accumulation(
        x.shape,
        *_around(x.shape, axis),
        exclusive=integer(operator, "exclusive", 0) == 1,
        reverse=integer(operator, "reverse", 0) == 1,
        element=element(x.dtype),
    )
    return call, {"input": values[operator.inputs[0]]}


def _best(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """TopK, of which not all outputs have to be used. Version 10 knows the largest only."""
    operator = layer.operators[0]
    x = layer.tensors[operator.inputs[0]]
    output = layer.tensors[layer.outputs[0]].shape
    axis = integer(operator, "axis", -1) % len(x.shape)
    call = Ranking(
        output,
        *_around(x.shape, axis),
        count=output[axis],
        largest=integer(operator, "largest", 1) == 1,
        last=False,
        outputs=tuple(
            "values" if index == operator.outputs[0] else "indices" for index in layer.outputs
        ),
        element=element(x.dtype),
    )
    return call, {"input": values[operator.inputs[0]]}


def _place_of_best(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    operator = layer.operators[0]
    x = layer.tensors[operator.inputs[0]]
    axis = integer(operator, "axis", 0) % len(x.shape)
    call = Ranking(
        layer.tensors[operator.outputs[0]].shape,
        *_around(x.shape, axis),
        count=1,
        largest=operator.op_type == "ArgMax",
        last=integer(operator, "select_last_index", 0) == 1,
        outputs=("indices",),
        element=element(x.dtype),
    )
    return call, {"input": values[operator.inputs[0]]}


def _around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """Elements before an axis, on it and after it."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


RANKINGS: dict[str, Lower] = {
    "ArgMax": _place_of_best,
    "ArgMin": _place_of_best,
    "CumSum": _accumulation,
    "TopK": _best,
}
