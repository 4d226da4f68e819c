"""Gelu written out: operators that together are one function of the value they read.

ONNX has no Gelu before opset 20, and some models compute it step by step in any opset. It is found
by what it computes: the operators run on a few numbers, and so do both of ONNX's Gelus.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from benanza_ingest.groups.wiring import OUTSIDE, Wiring
from benanza_ingest.resolving.fold import Array
from benanza_schemas.layer import Attribute, Operator

VERSION = 20
"""Of ONNX's Gelu."""

APPROXIMATIONS = ("none", "tanh")
OPERATORS = frozenset("Add Div Erf Mul Pow Sub Tanh".split())
MOST = 10
"""No way to write a Gelu that was seen has more operators."""

POINTS = np.linspace(-6, 6, 49, dtype=np.float32)
CLOSE = 2e-5
"""The two Gelus differ by 4.7e-4 at most."""


class Gelu(NamedTuple):
    """The layers that are a Gelu together, in the order in which they run, and which one it is."""

    positions: tuple[int, ...]
    approximate: str

    def operator(self, read: int, written: int) -> Operator:
        """ONNX's operator for these tensors of a layer."""
        attributes = (Attribute("approximate", self.approximate),)
        return Operator("Gelu", "", VERSION, attributes, (read,), (written,))


def gelu(wiring: Wiring, value: str) -> Gelu | None:
    """The Gelu of a value that nothing else reads, if there is one."""
    for positions in _closed(wiring, value):
        if {"Erf", "Tanh"} & {wiring.layers[position].op for position in positions}:
            approximate = which(wiring, value, positions)
            if approximate is not None:
                return Gelu(positions, approximate)
    return None


def _closed(wiring: Wiring, value: str) -> Iterator[tuple[int, ...]]:
    """The first layers after a value that read nothing but it, each other and single numbers, each
    time that all results but the last one's are read by them alone.
    """
    inside: list[int] = []
    values = [value]
    while len(inside) < MOST:
        left = sorted(
            {reader for name in values for reader in wiring.readers[name]}.difference(inside)
        )
        if not left or OUTSIDE in left or not _computes(wiring, left[0], value, values):
            return
        inside.append(left[0])
        values.append(wiring.node(left[0]).outputs[0])
        if len(left) == 1:
            yield tuple(inside)


def _computes(wiring: Wiring, position: int, value: str, values: Sequence[str]) -> bool:
    """Whether a layer computes each element from the same element of these values."""
    layer, node, types = wiring.layers[position], wiring.node(position), wiring.graph.types
    if layer.op not in OPERATORS or layer.domain or layer.kind != "compute" or layer.layer is None:
        return False
    mine, result = types.get(value), types.get(node.outputs[0])
    if mine is None or result is None or mine.shape != result.shape or mine.dtype != result.dtype:
        return False
    return all(name in values or _is_number(wiring, name) for name in node.inputs)


def _is_number(wiring: Wiring, name: str) -> bool:
    known = wiring.graph.types.get(name)
    if known is None or known.shape is None or any(size != 1 for size in known.shape):
        return False
    constants = wiring.graph.constants
    return name in constants and constants.value(name) is not None


def which(wiring: Wiring, value: str, positions: Sequence[int]) -> str | None:
    """Which Gelu of the value these layers compute, which read nothing else but numbers."""
    nodes = [wiring.node(position) for position in positions]
    names = [name for node in nodes for name in node.inputs if name in wiring.graph.constants]
    values = [wiring.graph.constants.value(name) for name in names]
    numbers = [np.asarray(constant, np.float32).reshape(()) for constant in values]
    protos = [helper.make_node(node.op_type, node.inputs, node.outputs[:1]) for node in nodes]
    layers = [
        layer for position in positions if (layer := wiring.layers[position].layer) is not None
    ]
    opset = max(layer.operators[0].version for layer in layers)
    given = {value: POINTS} | dict(zip(names, numbers, strict=True))
    computed = _computed(_model(protos, opset), given)
    for approximate in APPROXIMATIONS:
        if np.allclose(computed, _expected(approximate), rtol=CLOSE, atol=CLOSE):
            return approximate
    return None


@cache
def _expected(approximate: str) -> Array:
    node = helper.make_node("Gelu", ["x"], ["y"], approximate=approximate)
    return _computed(_model([node], VERSION), {"x": POINTS})


def _model(nodes: Sequence[NodeProto], opset: int) -> ModelProto:
    """A model of these nodes. What none of them writes it reads; its result is the last one's."""
    written = {name for node in nodes for name in node.output}
    read = dict.fromkeys(name for node in nodes for name in node.input if name not in written)
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in read]
    output = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "function", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def _computed(model: ModelProto, inputs: dict[str, Any]) -> Array:
    from onnx.reference import ReferenceEvaluator  # here, since most commands do without it

    with np.errstate(all="ignore"):
        (output,) = ReferenceEvaluator(model).run(None, inputs)
    return np.asarray(output)
