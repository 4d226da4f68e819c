"""Normalisations of rows; softmax; local response normalisation."""

from collections.abc import Callable, Mapping
from math import prod

import msgspec

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Normalisation, RowNormalisation, Softmax
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer

Lowering = tuple[Call, dict[str, Array]]
Lower = Callable[[Layer, Mapping[int, Array]], Lowering]


def is_norm_of_sum(layer: Layer) -> bool:
    """Whether a layer is an Add of equal shapes and the normalisation of its result."""
    names = [operator.op_type for operator in layer.operators]
    if names not in (["Add", "LayerNormalization"], ["Add", "RMSNormalization"]):
        return False
    first, second = (layer.tensors[index].shape for index in layer.operators[0].inputs)
    return first == second


def lower_norm_of_sum(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call for such a group and its operands. Raises `UnsupportedError`."""
    added, norm = layer.operators
    first, second = added.inputs
    if len(norm.outputs) > 1:
        raise UnsupportedError(f"{layer.title()} with other results is not supported yet")
    summed = {norm.inputs[0]: values[first]}
    alone = Layer(layer.tensors, (norm,), layer.outputs)
    call, operands = _layer(alone, {**values, **summed})
    return msgspec.structs.replace(call, residual=True), operands | {"residual": values[second]}


def _layer(layer: Layer, values: Mapping[int, Array]) -> tuple[RowNormalisation, dict[str, Array]]:
    """LayerNormalization and RMSNormalization: from an axis to the end."""
    operator = layer.operators[0]
    shape = layer.tensors[operator.inputs[0]].shape
    axis = operator.integer("axis", -1) % len(shape)
    operands = _affine(layer, values, prod(shape[axis:]))
    call = RowNormalisation(
        kind="variance" if operator.op_type == "LayerNormalization" else "rms",
        output=shape,
        lengths=(prod(shape[:axis]), prod(shape[axis:])),
        reduced=(False, True),
        affine=(False, True),
        epsilon=operator.number("epsilon", 1e-5),
        scale="scale" in operands,
        bias="bias" in operands,
    )
    return call, operands


def _groups(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """InstanceNormalization, in which each channel is a group, and GroupNormalization.

    The latter has a scale for each group before version 21, and since then for each channel.
    """
    operator = layer.operators[0]
    shape = layer.tensors[operator.inputs[0]].shape
    batch, channels, space = shape[0], shape[1], prod(shape[2:])
    groups = operator.integer("num_groups", channels)
    by_group = operator.op_type == "GroupNormalization" and operator.version < 21
    operands = _affine(layer, values, groups if by_group else channels)
    call = RowNormalisation(
        kind="variance",
        output=shape,
        lengths=(batch, groups, channels // groups, space),
        reduced=(False, False, True, True),
        affine=(False, True, not by_group, False),
        epsilon=operator.number("epsilon", 1e-5),
        scale="scale" in operands,
        bias="bias" in operands,
        by_channel=True,
    )
    return call, operands


def _affine(layer: Layer, values: Mapping[int, Array], size: int) -> dict[str, Array]:
    """The operands. Raises `UnsupportedError` unless scale and bias have `size` elements."""
    operator = layer.operators[0]
    operands = {}
    for name, index in zip(("input", "scale", "bias"), operator.inputs, strict=False):
        if index == OMITTED:
            continue
        if name != "input" and prod(layer.tensors[index].shape) != size:
            raise UnsupportedError(
                f"{operator.op_type} whose {name} is repeated is not supported yet"
            )
        operands[name] = values[index]
    return operands


def _to_unit(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    operator = layer.operators[0]
    shape = layer.tensors[operator.inputs[0]].shape
    axis = operator.integer("axis", -1) % len(shape)
    power = operator.integer("p", 2)
    if power not in (1, 2):
        raise UnsupportedError(f"LpNormalization with p={power} is not supported yet")
    call = _over(f"l{power}", shape, frozenset((axis,)))
    return call, {"input": values[operator.inputs[0]]}


def _mean_variance(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    operator = layer.operators[0]
    shape = layer.tensors[operator.inputs[0]].shape
    axes = operator.integers("axes", (0, 2, 3))
    call = _over("variance", shape, frozenset(axis % len(shape) for axis in axes))
    return call, {"input": values[operator.inputs[0]]}


def _over(kind: str, shape: tuple[int, ...], axes: frozenset[int]) -> RowNormalisation:
    """Without scale and bias, and without an epsilon."""
    return RowNormalisation(
        kind=kind,
        output=shape,
        lengths=shape,
        reduced=tuple(axis in axes for axis in range(len(shape))),
        affine=(False,) * len(shape),
        epsilon=0.0,
    )


def _softmax(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """Before version 13 it is over all axes from this one on, since then over this one alone."""
    operator = layer.operators[0]
    shape = layer.tensors[operator.outputs[0]].shape
    logarithm = operator.op_type == "LogSoftmax"
    if operator.version < 13:
        axis = operator.integer("axis", 1) % len(shape)
        outer, size, inner = prod(shape[:axis]), prod(shape[axis:]), 1
    else:
        axis = operator.integer("axis", -1) % len(shape)
        outer, size, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    call = Softmax(shape, outer, size, inner, logarithm)
    return call, {"input": values[operator.inputs[0]]}


def _over_channels(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    operator = layer.operators[0]
    call = Normalisation(
        input=layer.tensors[operator.inputs[0]].shape,
        size=operator.integer("size", 1),
        alpha=operator.number("alpha", 1e-4),
        beta=operator.number("beta", 0.75),
        bias=operator.number("bias", 1.0),
    )
    return call, {"input": values[operator.inputs[0]]}


NORMS: dict[str, Lower] = {
    "GroupNormalization": _groups,
    "InstanceNormalization": _groups,
    "LRN": _over_channels,
    "LayerNormalization": _layer,
    "LogSoftmax": _softmax,
    "LpNormalization": _to_unit,
    "MeanVarianceNormalization": _mean_variance,
    "RMSNormalization": _layer,
    "Softmax": _softmax,
}
