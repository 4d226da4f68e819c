"""Operators that move elements to or from the places that indices name."""

from collections.abc import Callable, Mapping
from math import prod

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import (
    Call,
    ElementGathering,
    ElementScattering,
    Gathering,
    Scattering,
)
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Tensor

Lowering = tuple[Call, dict[str, Array]]
Lower = Callable[[Layer, Mapping[int, Array]], Lowering]


def _gather(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The axes before the gathered one are the batch, of which all items use the same indices."""
    x, indices, output = _tensors(layer)
    axis = layer.operators[0].integer("axis", 0) % len(x.shape)
    call = Gathering(
        output=output.shape,
        batch=prod(x.shape[:axis]),
        named=(x.shape[axis],),
        inner=prod(x.shape[axis + 1 :]),
        rows=prod(indices.shape),
        shared=True,
        index_element=element(indices.dtype),
        element=element(x.dtype),
    )
    return call, _operands(layer, values)


def _gather_tuples(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    x, indices, output = _tensors(layer)
    shared = layer.operators[0].integer("batch_dims", 0)
    last = shared + indices.shape[-1]
    call = Gathering(
        output=output.shape,
        batch=prod(x.shape[:shared]),
        named=x.shape[shared:last],
        inner=prod(x.shape[last:]),
        rows=prod(indices.shape[shared:-1]),
        shared=False,
        index_element=element(indices.dtype),
        element=element(x.dtype),
    )
    return call, _operands(layer, values)


def _gather_elements(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    x, indices, output = _tensors(layer)
    axis = layer.operators[0].integer("axis", 0) % len(x.shape)
    kinds = element(indices.dtype), element(x.dtype)
    return ElementGathering(x.shape, axis, output.shape, *kinds), _operands(layer, values)


def _scatter_tuples(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    _refuse_reduction(layer)
    x, indices, output = _tensors(layer)
    last = indices.shape[-1]
    call = Scattering(
        output=output.shape,
        named=x.shape[:last],
        inner=prod(x.shape[last:]),
        rows=prod(indices.shape[:-1]),
        index_element=element(indices.dtype),
        element=element(x.dtype),
    )
    return call, _operands(layer, values)


def _scatter_elements(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    _refuse_reduction(layer)
    x, indices, output = _tensors(layer)
    axis = layer.operators[0].integer("axis", 0) % len(x.shape)
    kinds = element(indices.dtype), element(x.dtype)
    return ElementScattering(output.shape, axis, indices.shape, *kinds), _operands(layer, values)


def _refuse_reduction(layer: Layer) -> None:
    operator = layer.operators[0]
    if operator.text("reduction", "none") != "none":
        raise UnsupportedError(f"{operator.op_type} that reduces is not supported yet")


def _tensors(layer: Layer) -> tuple[Tensor, Tensor, Tensor]:
    """The input, the indices, and the output."""
    operator = layer.operators[0]
    x, indices = (layer.tensors[index] for index in operator.inputs[:2])
    return x, indices, layer.tensors[operator.outputs[0]]


def _operands(layer: Layer, values: Mapping[int, Array]) -> dict[str, Array]:
    names = ("input", "indices", "updates")
    inputs = layer.operators[0].inputs
    return {name: values[index] for name, index in zip(names, inputs, strict=False)}


GATHERINGS: dict[str, Lower] = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_tuples,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_tuples,
}
