"""Finds nodes for which nothing has to run: their output is their input under another shape, or has
no elements.
"""

from math import prod

import numpy as np

from benanza_ingest.resolving.fold import Array, Constants
from benanza_ingest.resolving.graph import Node
from benanza_schemas.layer import Layer, Tensor
from benanza_schemas.operators.table import facts_of

NO_ELEMENTS = "its results have no elements, so nothing has to run"


def why_nothing_runs(layer: Layer) -> str:
    """Why a layer whose results have no elements needs no call; empty for any other."""
    results = [layer.tensors[index].shape for index in layer.outputs]
    return NO_ELEMENTS if results and all(0 in shape for shape in results) else ""


def is_view(node: Node, layer: Layer, constants: Constants) -> bool:
    """Whether a node of the standard domain moves no data. `layer` is the layer of the node."""
    op_type = node.op_type
    view_if = facts_of(op_type).view
    if view_if == "always" or node.in_place:
        return True
    outputs = [layer.tensors[index] for index in layer.outputs]
    if view_if == "of one":
        if op_type == "Split":
            return len(outputs) == 1
        return sum(name != "" for name in node.inputs) == 1
    if view_if != "unchanged":
        return False
    # For all of these, the data are the first input and the first output.
    before, after = layer.tensors[0], outputs[0]
    if op_type in ("Cast", "CastLike"):
        return before.dtype == after.dtype
    if op_type == "Transpose":
        return _keeps_order(node, before.shape)
    if op_type == "Gather":
        return _gathers_all(node, before, after, constants)
    if before.shape != after.shape:
        return False
    if op_type == "Dropout":
        return _is_inference(node, constants)
    if op_type == "Slice":
        steps = _argument(node, 4, constants)
        return not any(node.inputs[4:]) or (steps is not None and bool((steps > 0).all()))
    if op_type == "Pad":
        return _pads_nothing(node, constants)
    if op_type in ("Resize", "Upsample"):
        return _scales_nothing(node, constants)
    return True


def _argument(node: Node, position: int, constants: Constants) -> Array | None:
    if len(node.inputs) <= position or node.inputs[position] not in constants:
        return None
    return constants.value(node.inputs[position])


def _keeps_order(node: Node, shape: tuple[int, ...]) -> bool:
    given = next((list(a.ints) for a in node.proto.attribute if a.name == "perm"), None)
    order = given or list(reversed(range(len(shape))))
    moved = [axis for axis in order if shape[axis] != 1]
    return moved == sorted(moved)


def _gathers_all(node: Node, before: Tensor, after: Tensor, constants: Constants) -> bool:
    """Whether all elements are gathered in their order, such as the only one on an axis."""
    if prod(before.shape) != prod(after.shape):
        return False
    axis = next((a.i for a in node.proto.attribute if a.name == "axis"), 0)
    size = before.shape[axis]
    if size == 1:
        return True
    places = _argument(node, 1, constants)
    return places is not None and np.array_equal(np.ravel(places) % size, np.arange(size))


def _is_inference(node: Node, constants: Constants) -> bool:
    if any(node.outputs[1:]):  # its mask
        return False
    if any(a.name == "is_test" for a in node.proto.attribute):  # opset 6 and before
        return any(a.name == "is_test" and a.i for a in node.proto.attribute)
    if len(node.inputs) < 3 or not node.inputs[2]:
        return True
    training = _argument(node, 2, constants)
    return training is not None and not np.asarray(training).any()


def _scales_nothing(node: Node, constants: Constants) -> bool:
    """Whether all scales are 1. A scale near 1 may keep the sizes and still move data."""
    for attribute in node.proto.attribute:
        if attribute.s == b"tf_crop_and_resize":
            return False
        if attribute.name == "scales":  # opset 8 and before
            return all(scale == 1 for scale in attribute.floats)
    position = 1 if len(node.inputs) == 2 else 2  # opset 10 and before, and after it
    if not any(node.inputs[position : position + 1]):
        return True
    scales = _argument(node, position, constants)
    return scales is not None and bool((scales == 1).all())


def _pads_nothing(node: Node, constants: Constants) -> bool:
    attribute = next((a for a in node.proto.attribute if a.name in ("pads", "paddings")), None)
    if attribute is not None:
        return not any(attribute.ints)
    pads = _argument(node, 1, constants)
    return pads is not None and not pads.any()
