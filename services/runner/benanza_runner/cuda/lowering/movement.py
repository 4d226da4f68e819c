"""Operators that only move elements, in runs."""

from collections.abc import Callable, Mapping

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Concatenation, Shuffle, Splitting, View
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.lowering.constants import whole_constants
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer

Lower = Callable[[Layer, Mapping[int, Array]], tuple[Call, dict[str, Array]]]

SHUFFLE = ("Reshape", "Transpose", "Reshape")
"""The operators of a shuffle of channels."""


def _concatenation(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    """What has no elements is left out; of one part, a copy is left."""
    operator = layer.operators[0]
    output = layer.tensors[operator.outputs[0]].shape
    axis = operator.integer("axis", 1) % len(output)
    parts = [index for index in operator.inputs if 0 not in layer.tensors[index].shape]
    if len(parts) == 1 and len(operator.inputs) > 1:
        copy, _ = _view(layer, values, output)
        return copy, {"input": values[parts[0]]}
    shapes = tuple(layer.tensors[index].shape for index in parts)
    operands = {f"in{position}": values[index] for position, index in enumerate(parts)}
    return Concatenation(shapes, axis, output, _element(layer)), operands


def _splitting(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    operator = layer.operators[0]
    x = layer.tensors[operator.inputs[0]].shape
    axis = operator.integer("axis", 0) % len(x)
    if OMITTED in operator.outputs:
        raise UnsupportedError("a Split with omitted outputs is not supported yet")
    lengths = tuple(layer.tensors[index].shape[axis] for index in operator.outputs)
    results = tuple(operator.outputs.index(index) for index in layer.outputs)
    call = Splitting(x, axis, lengths, results, _element(layer))
    return call, {"input": values[operator.inputs[0]]}


def _transpose(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    operator = layer.operators[0]
    shape = layer.tensors[operator.inputs[0]].shape
    order = operator.integers("perm", tuple(reversed(range(len(shape)))))
    return _view(layer, values, shape, order=order)


def _expand(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    shape = layer.tensors[layer.operators[0].inputs[0]].shape
    return _view(layer, values, shape)


def _slice(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    """Starts, ends, axes and steps are attributes in version 1 and inputs since."""
    operator = layer.operators[0]
    shape = layer.tensors[operator.inputs[0]].shape
    if operator.version < 10:
        first = operator.integers("starts", ())
        last = operator.integers("ends", ())
        axes = operator.integers("axes", tuple(range(len(first))))
        steps = (1,) * len(first)
    else:
        given = [whole_constants(layer, values, slot) for slot in range(1, 5)]
        first, last = given[0] or (), given[1] or ()
        axes = given[2] or tuple(range(len(first)))
        steps = given[3] or (1,) * len(first)
    cut = [slice(None)] * len(shape)
    for start, stop, axis, step in zip(first, last, axes, steps, strict=True):
        begin, end, stride = slice(start, stop, step).indices(shape[axis])
        cut[axis] = slice(begin, None if end < 0 else end, stride)
    return _view(layer, values, shape, cut=cut)


def _tile(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    """A Tile, as a view in which an axis of one before each axis is repeated."""
    operator = layer.operators[0]
    shape = layer.tensors[operator.inputs[0]].shape
    output = layer.tensors[operator.outputs[0]].shape
    seen = tuple(n for size in shape for n in (1, size))
    pairs = zip(shape, output, strict=True)
    repeated = tuple(n for size, total in pairs for n in (total // size, size))
    return _view(layer, values, seen, output=repeated)


def _depth_to_space(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    operator = layer.operators[0]
    batch, channels, height, width = layer.tensors[operator.inputs[0]].shape
    block = operator.integer("blocksize", 1)
    fewer = channels // block**2
    if operator.text("mode", "DCR") == "DCR":
        seen, order = (batch, block, block, fewer, height, width), (0, 3, 4, 1, 5, 2)
    else:
        seen, order = (batch, fewer, block, block, height, width), (0, 1, 4, 2, 5, 3)
    return _view(layer, values, seen, order=order, output=tuple(seen[axis] for axis in order))


def _space_to_depth(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    operator = layer.operators[0]
    batch, channels, height, width = layer.tensors[operator.inputs[0]].shape
    block = operator.integer("blocksize", 1)
    seen = (batch, channels, height // block, block, width // block, block)
    order = (0, 3, 5, 1, 2, 4)
    return _view(layer, values, seen, order=order, output=tuple(seen[axis] for axis in order))


def _element(layer: Layer) -> str:
    return element(layer.tensors[layer.operators[0].outputs[0]].dtype)


def _view(
    layer: Layer,
    values: Mapping[int, Array],
    shape: tuple[int, ...],
    cut: list[slice] | None = None,
    order: tuple[int, ...] | None = None,
    output: tuple[int, ...] | None = None,
) -> tuple[Call, dict[str, Array]]:
    operator = layer.operators[0]
    cut = cut or [slice(None)] * len(shape)
    call = View(
        input=shape,
        starts=tuple(bounds.start for bounds in cut),
        stops=tuple(bounds.stop for bounds in cut),
        steps=tuple(bounds.step or 1 for bounds in cut),
        order=order or tuple(range(len(shape))),
        output=output or layer.tensors[operator.outputs[0]].shape,
        element=_element(layer),
    )
    return call, {"input": values[operator.inputs[0]]}


def is_shuffle(layer: Layer) -> bool:
    """Whether a layer is a group of operators that shuffles channels."""
    if tuple(operator.op_type for operator in layer.operators) != SHUFFLE:
        return False
    first, _, last = layer.operators
    x, table, y = (
        layer.tensors[index].shape for index in (first.inputs[0], *first.outputs, *last.outputs)
    )
    return x == y and len(table) == len(x) + 1


def lower_shuffle(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    """The call for such a layer, and its operands."""
    first = layer.operators[0]
    x, table = (layer.tensors[index] for index in (first.inputs[0], first.outputs[0]))
    call = Shuffle(x.shape, table.shape[1], element(x.dtype))
    return call, {"input": values[first.inputs[0]]}


MOVEMENTS: dict[str, Lower] = {
    "Concat": _concatenation,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _splitting,
    "Tile": _tile,
    "Transpose": _transpose,
}
