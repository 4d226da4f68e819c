"""Which nodes move no data: their output is their input's bytes under another shape."""

from collections.abc import Set as AbstractSet

import numpy as np

from benanza_ingest.fold import Array, Constants
from benanza_ingest.graph import Node
from benanza_ingest.types import TensorType

_ALWAYS = frozenset("Identity Reshape Flatten Squeeze Unsqueeze Optional BitCast".split())
_OF_ONE = frozenset(["Concat", "Sum", "Max", "Min", "Mean", "Split"])
_SAME_SHAPE = frozenset("Expand Tile Slice Pad Resize Upsample Transpose Dropout".split())


def is_view(
    node: Node,
    inputs: list[TensorType],
    outputs: list[TensorType],
    constants: Constants,
    readable: AbstractSet[str],
) -> bool:
    """Whether a node of the standard domain, its types resolved, moves nothing.

    `inputs` and `outputs` leave out what the node leaves out; `readable` holds the names that
    somebody reads.
    """
    op_type = node.op_type
    if op_type in _ALWAYS:
        return True
    if all(output.elements() == 0 for output in outputs):
        return True
    if op_type in ("Cast", "CastLike"):
        return inputs[0].dtype == outputs[0].dtype
    if op_type in _OF_ONE:
        if op_type == "Split":
            return len(outputs) == 1
        return sum(name != "" for name in node.inputs) == 1
    if op_type == "Transpose":
        return _keeps_order(node, inputs[0].dims())
    if op_type not in _SAME_SHAPE or inputs[0].shape != outputs[0].shape:
        return False
    if op_type == "Dropout":
        return _is_inference(node, constants, readable)
    if op_type == "Slice":
        steps = _argument(node, 4, constants)
        return len(node.inputs) < 5 or (steps is not None and bool((steps > 0).all()))
    if op_type == "Pad":
        return _pads_nothing(node, constants)
    if op_type in ("Resize", "Upsample"):
        return not any(a.s == b"tf_crop_and_resize" for a in node.proto.attribute)
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


def _is_inference(node: Node, constants: Constants, readable: AbstractSet[str]) -> bool:
    if len(node.outputs) > 1 and node.outputs[1] in readable:
        return False
    if any(a.name == "is_test" for a in node.proto.attribute):  # opset 6 and before
        return any(a.name == "is_test" and a.i for a in node.proto.attribute)
    if len(node.inputs) < 3 or not node.inputs[2]:
        return True
    training = _argument(node, 2, constants)
    return training is not None and not np.asarray(training).any()


def _pads_nothing(node: Node, constants: Constants) -> bool:
    attribute = next((a for a in node.proto.attribute if a.name in ("pads", "paddings")), None)
    if attribute is not None:
        return not any(attribute.ints)
    pads = _argument(node, 1, constants)
    return pads is not None and not pads.any()
