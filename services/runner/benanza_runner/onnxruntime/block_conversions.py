"""How long it takes to convert feature maps between ONNX's layout and others."""

from collections.abc import Iterable
from math import prod
from typing import Literal, NamedTuple

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper

from benanza_runner.cpu_libraries.cpu_library import Borders
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.onnx_layers.layer_model import IR_VERSION, LayerModel
from benanza_runner.onnxruntime.blocked import DOMAIN, Shape, in_memory, moves
from benanza_runner.onnxruntime.channels_last import LAYOUT as CHANNELS_LAST
from benanza_runner.onnxruntime.copies_timer import CopiesTimer
from benanza_runner.onnxruntime.forms import LayerForm
from benanza_runner.onnxruntime.session import CPU

RULE = Rule(warm_up_us=1_000, samples=8, least_us=5_000, cap_us=10_000)

ALIGNMENT = 4
"""`ReorderInput` takes multiples of so many channels. Other numbers count as `ReorderOutput`."""

Direction = Literal["ReorderInput", "ReorderOutput", "to NHWC", "from NHWC"]
"""The operators of ONNX Runtime that convert from NCHW to blocks, and back; and the Transposes that
put channels last, and back.
"""

TO_LAST: frozenset[Direction] = frozenset(("to NHWC", "from NHWC"))


class Changes(NamedTuple):
    """The times of converting what a form reads and writes, and what it writes, in µs.

    `layout_change_us` is None for one that takes any layout.
    """

    layout_change_us: float | None
    write_change_us: float


class BlockConversions:
    """Times each conversion once, by shape and direction, with this timer."""

    def __init__(self, timer: CopiesTimer) -> None:
        self._timer = timer
        self._known: dict[tuple[Shape, Direction], float] = {}
        self._new: list[tuple[Shape, Direction]] = []

    def settle(self, *, stable: bool) -> None:
        """Keeps what was timed since the last call for good; drops it if it wasn't `stable`."""
        for key in self._new:
            if not stable:
                del self._known[key]
        self._new.clear()

    def around(self, form: LayerForm | Borders) -> Changes:
        """Where the neighbours of a form, or of what a library runs, have another layout."""
        inwards: Direction = "ReorderInput"
        outwards: Direction = "ReorderOutput"
        if form.layout == "NCHW":
            inwards, outwards = outwards, inwards
        elif form.layout == CHANNELS_LAST:
            inwards, outwards = "to NHWC", "from NHWC"
        write_us = self._us(form.writes, outwards)
        if not form.layout:
            return Changes(None, write_us)
        return Changes(self._us(form.reads, inwards) + write_us, write_us)

    def _us(self, shapes: Iterable[Shape], direction: Direction) -> float:
        moving = _turns if direction in TO_LAST else moves
        return sum(self._one_us(shape, direction) for shape in shapes if moving(shape))

    def _one_us(self, shape: Shape, direction: Direction) -> float:
        if direction == "ReorderInput" and shape[1] % ALIGNMENT:
            direction = "ReorderOutput"
        key = shape, direction
        if key not in self._known:
            model = _model(shape, direction)
            timed = self._timer.timed(model, CPU, self._timer.copies(model, CPU), RULE)
            self._known[key] = summary(sorted(timed.samples_us)).median
            self._new.append(key)
        return self._known[key]


def _turns(shape: Shape) -> bool:
    """Whether the elements lie elsewhere with channels last."""
    return shape[1] > 1 and prod(shape[2:]) > 1


def _model(shape: Shape, direction: Direction) -> LayerModel:
    """One conversion as a model."""
    if direction in TO_LAST:
        return _transpose(shape, direction)
    to_blocks = direction == "ReorderInput"
    source, target = (shape, in_memory(shape)) if to_blocks else (in_memory(shape), shape)
    node = helper.make_node(direction, ["x"], ["y"], domain=DOMAIN)
    if not to_blocks:
        node.attribute.append(helper.make_attribute("channels", shape[1]))
    return _of_node(node, source, target)


def _transpose(shape: Shape, direction: Direction) -> LayerModel:
    batch, channels, *space = shape
    first, last = (batch, channels, *space), (batch, *space, channels)
    axes = range(len(shape))
    if direction == "to NHWC":
        node = helper.make_node("Transpose", ["x"], ["y"], perm=[0, *axes[2:], 1])
        return _of_node(node, first, last)
    node = helper.make_node("Transpose", ["x"], ["y"], perm=[0, axes[-1], *axes[1:-1]])
    return _of_node(node, last, first)


def _of_node(node: NodeProto, source: Shape, target: Shape) -> LayerModel:
    graph = GraphProto(name="conversion", node=[node])
    graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, source))
    graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, target))
    imports = [helper.make_opsetid("", 13), helper.make_opsetid(DOMAIN, 1)]
    proto = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)
    return LayerModel(proto, {}, {"x": np.ones(source, np.float32)})
