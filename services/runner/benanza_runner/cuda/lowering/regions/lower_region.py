"""A layer of element-wise operators, movement and reductions to one call."""

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Region
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.lowering.regions.as_region import channels_of
from benanza_runner.cuda.lowering.regions.express import express
from benanza_runner.cuda.lowering.regions.matrix_vector import with_sums
from benanza_runner.cuda.lowering.regions.region_values import RegionValues
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.onnx_schemas import numpy_dtype, onnx_dtype
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.table import facts_of


class _Lowered(Protocol):
    @property
    def call(self) -> Call: ...
    @property
    def operands(self) -> dict[str, Array]: ...
    @property
    def weights(self) -> frozenset[str]: ...


Lower = Callable[[Layer, Mapping[int, Array]], _Lowered]


def lower_region(
    layer: Layer, values: Mapping[int, Array], lower: Lower
) -> tuple[Region, dict[str, Array], frozenset[str]]:
    """The call, its operands, and the names of those that are weights.

    `lower` lowers layers of one operator. Raises `UnsupportedError` where one of the operators
    can't be part of a region.
    """
    layer = with_sums(layer)
    region = _Region(layer, values, lower)
    for operator in layer.operators:
        region.add(operator)
    return region.lowered()


class _Region:
    def __init__(self, layer: Layer, values: Mapping[int, Array], lower: Lower) -> None:
        self._layer = layer
        self._lower = lower
        self._values = RegionValues()
        self._numbers: dict[int, int] = {}
        self._operands: dict[str, Array] = {}
        self._weights: set[str] = set()
        self._channels: set[int] = set()
        # What is computed has no elements yet: its array stands for it, and takes no memory.
        self._arrays = {
            index: values[index] if index in values else _standing_for(layer, index)
            for index in range(len(layer.tensors))
        }
        self._indices = {id(array): index for index, array in self._arrays.items()}

    def lowered(self) -> tuple[Region, dict[str, Array], frozenset[str]]:
        outputs = tuple(self._numbers[index] for index in self._layer.outputs)
        known = self._channels - {0}
        channels = known.pop() if len(known) == 1 else 0
        call = Region(tuple(self._values.values), outputs, channels)
        return call, self._operands, frozenset(self._weights)

    def add(self, operator: Operator) -> None:
        """Adds the values that an operator computes."""
        outputs = tuple(index for index in operator.outputs if index != OMITTED)
        if facts_of(operator.op_type, operator.domain).region == "view" and len(outputs) == 1:
            x = self._number(operator.inputs[0])
            shape = self._layer.tensors[outputs[0]].shape
            self._numbers[outputs[0]] = self._values.reshaped(x, shape)
            return
        if operator.op_type == "Gather" and not operator.domain:
            cut = self._cut(operator)
            if cut is not None:
                self._numbers[outputs[0]] = cut
                return
        alone = Layer(self._layer.tensors, (operator,), outputs)
        lowered = self._lower(alone, self._arrays)
        self._channels.add(channels_of(lowered.call))
        operands = {
            name: self._operand(array, fixed=name in lowered.weights)
            for name, array in lowered.operands.items()
        }
        for index, number in zip(
            outputs, express(lowered.call, operands, self._values), strict=True
        ):
            # Windows see feature maps of one axis with another one.
            shape = self._layer.tensors[index].shape
            self._numbers[index] = self._values.reshaped(number, shape)

    def _cut(self, operator: Operator) -> int | None:
        """What a Gather with known indices gives, if it only cuts its input; else None."""
        x, indices = operator.inputs[:2]
        if self._layer.tensors[indices].value is None or not self._arrays[indices].size:
            return None
        shape = self._layer.tensors[x].shape
        axis = operator.integer("axis", 0) % len(shape)
        places = [int(place) % shape[axis] for place in np.ravel(self._arrays[indices])]
        steps = set(np.diff(places).tolist()) or {1}
        if len(steps) > 1 or 0 in steps:
            return None
        (step,) = steps
        end = places[-1] + step
        cuts = [slice(None)] * len(shape)
        cuts[axis] = slice(places[0], end if end >= 0 else None, step)
        part = self._values.sliced(self._number(x), cuts)
        return self._values.reshaped(part, self._layer.tensors[operator.outputs[0]].shape)

    def _operand(self, array: Array, *, fixed: bool) -> int:
        """The number of what an operand is: a tensor of the layer, or made of weights alone."""
        if id(array) in self._indices:
            return self._number(self._indices[id(array)])
        if not fixed:
            raise UnsupportedError(f"{self._layer.title()} computes an operand from an input")
        name = f"in{len(self._operands)}"
        self._operands[name] = array
        self._weights.add(name)
        return self._values.given(name, array.shape, element(onnx_dtype(array.dtype)))

    def _number(self, index: int) -> int:
        if index not in self._numbers:
            name = f"in{len(self._operands)}"
            array = self._arrays[index]
            self._operands[name] = array
            if self._layer.tensors[index].constant:
                self._weights.add(name)
            kind = element(onnx_dtype(array.dtype))
            self._numbers[index] = self._values.given(name, array.shape, kind)
        return self._numbers[index]


def _standing_for(layer: Layer, index: int) -> Array:
    tensor = layer.tensors[index]
    dtype = np.dtype(np.float32) if not element(tensor.dtype) else numpy_dtype(tensor.dtype)
    return np.broadcast_to(np.zeros((), dtype), tensor.shape)
