"""From a graph's nodes to layers with identity and costs."""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from benanza_schemas.identity import canonical, fingerprint_of_canonical
from benanza_schemas.layer import OMITTED, Layer, Operator, Tensor
from onnx import numpy_helper

from benanza_ingest import costs
from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.graph import Graph, Node
from benanza_ingest.limits import Limits
from benanza_ingest.operators import (
    DECIDING_ELEMENTS,
    DECIDING_INPUTS,
    MOVEMENT,
    attributes,
    optional_outputs,
    schema,
)
from benanza_ingest.parse import check_elements
from benanza_ingest.types import TensorType
from benanza_ingest.views import is_view

_CONTROL_FLOW = frozenset(("If", "Loop", "Scan", "SequenceMap"))


class Layers:
    """Makes the layers of one graph. Equal nodes are worked out once."""

    def __init__(
        self, graph: Graph, opsets: dict[str, int], unbound: list[str], limits: Limits
    ) -> None:
        self._graph = graph
        self._opsets = opsets
        self._unbound = unbound
        self._limits = limits
        self._made: dict[object, ExtractedLayer] = {}
        self._tensors: dict[tuple[str, bool, bool], Tensor] = {}
        read = {name for node in graph.nodes for name in node.reads()}
        self._readable = frozenset(read.union(graph.outputs))

    def layer(self, node: Node) -> ExtractedLayer:
        """The layer that a node is; a skipped one where that can't be told."""
        reason = self._reason_to_skip(node)
        if reason:
            name = node.proto.name or _first(node.outputs)
            return ExtractedLayer(name, node.op_type, node.domain, "skipped", reason=reason)
        version = self._version(node)
        deciding = DECIDING_INPUTS.get(node.op_type, ())
        places: dict[str, int] = {}
        tensors: list[Tensor] = []
        inputs = []
        for position, value in enumerate(node.inputs):
            if value and value not in places:
                places[value] = len(tensors)
                tensors.append(self._tensor(value, position in deciding))
            inputs.append(places[value] if value else OMITTED)
        outputs = []
        for value in self._written(node):
            outputs.append(len(tensors) if value else OMITTED)
            if value:
                tensors.append(self._tensor(value, False))
        given = node.proto.attribute
        key = (
            node.op_type,
            node.domain,
            tuple([a.SerializeToString() for a in given]),
            tuple(tensors),
            tuple(inputs),
            tuple(outputs),
        )
        made = self._made.get(key)
        if made is None:
            shapes = [None if i == OMITTED else tensors[i].shape for i in inputs]
            operator = Operator(
                op_type=node.op_type,
                domain=node.domain,
                version=version,
                attributes=attributes(node.op_type, node.domain, version, list(given), shapes),
                inputs=tuple(inputs),
                outputs=tuple(outputs),
            )
            made = self._make(node, tuple(tensors), operator)
            self._made[key] = made
        return replace(made, name=node.proto.name or _first(node.outputs))

    def _make(self, node: Node, tensors: tuple[Tensor, ...], operator: Operator) -> ExtractedLayer:
        written = tuple(i for i in operator.outputs if i != OMITTED)
        layer = canonical(Layer(tensors, (operator,), written))
        fingerprint = fingerprint_of_canonical(layer)
        inputs = [self._type(name) for name in node.inputs if name]
        outputs = [self._type(name) for name in self._written(node) if name]
        standard = node.domain == ""
        if standard and is_view(node, inputs, outputs, self._graph.constants, self._readable):
            return ExtractedLayer("", node.op_type, node.domain, "view", layer, fingerprint)
        return ExtractedLayer(
            "",
            node.op_type,
            node.domain,
            "movement" if standard and node.op_type in MOVEMENT else "compute",
            layer,
            fingerprint,
            costs.flops(layer),
            costs.moved_bytes(layer),
            costs.parameters(layer),
        )

    def _version(self, node: Node) -> int:
        found = schema(node.op_type, node.domain, self._opsets.get(node.domain, 0))
        return found.since_version if found else 0

    def _written(self, node: Node) -> tuple[str, ...]:
        """The outputs of a node, without the optional ones that nobody reads."""
        if len(node.outputs) == 1:
            return node.outputs
        unread = optional_outputs(node.op_type, node.domain, self._version(node))
        return tuple(
            "" if position in unread and value not in self._readable else value
            for position, value in enumerate(node.outputs)
        )

    def _type(self, name: str) -> TensorType:
        found = self._graph.constants.type_of(name)
        assert found is not None, "layers are made of nodes whose types are all known"
        return found

    def _tensor(self, name: str, deciding: bool) -> Tensor:
        constant = name in self._graph.constants
        key = (name, constant, deciding)
        tensor = self._tensors.get(key)
        if tensor is None:
            known = self._type(name)
            check_elements(name, known.dims(), self._limits)
            value = None
            if constant and deciding and known.elements() <= DECIDING_ELEMENTS:
                value = _bytes(self._graph.constants.value(name))
            tensor = Tensor(known.dtype, known.dims(), constant, value)
            self._tensors[key] = tensor
        return tensor

    def _reason_to_skip(self, node: Node) -> str:
        if node.op_type in _CONTROL_FLOW and node.domain == "":
            return (
                f"{node.op_type}: what its body runs depends on data; export the model with the "
                "condition or the number of steps fixed"
            )
        opset = self._opsets.get(node.domain)
        if opset is None or schema(node.op_type, node.domain, opset) is None:
            where = f"{node.domain or 'ai.onnx'}::{node.op_type}"
            return (
                f"{where}: opset {opset} of the installed onnx {onnx.__version__} has no such "
                "operator; export the model with standard operators or with this one as a function"
            )
        for name in (*node.inputs, *self._written(node)):
            if name:
                reason = self._reason_of_value(name)
                if reason:
                    return f"{node.op_type}: {reason}"
        return ""

    def _reason_of_value(self, name: str) -> str:
        known = self._graph.constants.type_of(name)
        if known is not None and known.resolved:
            return f"{name!r} holds strings" if known.dtype == "string" else ""
        if known is None:
            return f"{name!r} is no tensor, or its type isn't known{self._hint(())}"
        shape = known.shape if known.shape is not None else ()
        text = "unknown rank" if known.shape is None else f"shape {_text(shape)}"
        return f"{name!r} has {text}{self._hint(shape)}"

    def _hint(self, shape: tuple[int | str | None, ...]) -> str:
        names = [size for size in shape if isinstance(size, str) and size in self._unbound]
        options = " ".join(f"--dim {name}=N" for name in names or self._unbound)
        return f"; give {options}" if options else "; it depends on the data"


def _text(shape: tuple[int | str | None, ...]) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def _first(names: tuple[str, ...]) -> str:
    return next((name for name in names if name), "")


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(numpy_helper.from_array(np.asarray(value)).raw_data)
