"""Operators that order or add up elements along one axis."""

from collections.abc import Callable, Mapping
from math import prod

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Accumulation, Call, Ranking
from benanza_runner.cuda.elements import element
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
        exclusive=operator.integer("exclusive", 0) == 1,
        reverse=operator.integer("reverse", 0) == 1,
        element=element(x.dtype),
    )
    return call, {"input": values[operator.inputs[0]]}


def _best(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """TopK. Only one of its outputs may be used; version 10 knows the largest only."""
    operator = layer.operators[0]
    x = layer.tensors[operator.inputs[0]]
    output = layer.tensors[layer.outputs[0]].shape
    axis = operator.integer("axis", -1) % len(x.shape)
    call = Ranking(
        output,
        *_around(x.shape, axis),
        count=output[axis],
        largest=operator.integer("largest", 1) == 1,
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
    axis = operator.integer("axis", 0) % len(x.shape)
    call = Ranking(
        layer.tensors[operator.outputs[0]].shape,
        *_around(x.shape, axis),
        count=1,
        largest=operator.op_type == "ArgMax",
        last=operator.integer("select_last_index", 0) == 1,
        outputs=("indices",),
        element=element(x.dtype),
    )
    return call, {"input": values[operator.inputs[0]]}


def _around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """How many elements are before an axis, on it and after it."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


RANKINGS: dict[str, Lower] = {
    "ArgMax": _place_of_best,
    "ArgMin": _place_of_best,
    "CumSum": _accumulation,
    "TopK": _best,
}
