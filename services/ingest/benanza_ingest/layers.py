"""From a graph's nodes to layers with identity and costs."""

from typing import Any

import numpy as np
import onnx
from benanza_schemas.identity import fingerprint_of_canonical
from benanza_schemas.layer import OMITTED, Layer, Operator, Tensor
from onnx import numpy_helper

from benanza_ingest import costs
from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.graph import CONTROL_FLOW, Graph, Node
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


class Layers:
    """Makes the layers of one graph. Nodes that are alike are worked out once."""

    def __init__(
        self, graph: Graph, opsets: dict[str, int], unbound: list[str], limits: Limits
    ) -> None:
        self._graph = graph
        self._opsets = opsets
        self._unbound = unbound
        self._limits = limits
        self._made: dict[object, ExtractedLayer] = {}
        self._tensors: dict[str, Tensor | None] = {}
        readable: set[str] = set(graph.outputs)
        for node in graph.nodes:
            readable.update(node.inputs)
            readable.update(node.captured)
        self._readable = readable

    def layer(self, node: Node) -> ExtractedLayer:
        """The layer that a node is; a skipped one where that can't be told."""
        op_type, domain = node.op_type, node.domain
        name = node.proto.name or _first(node.outputs)
        version = self._version(op_type, domain)
        if version is None or op_type in CONTROL_FLOW:
            return _skipped(name, node, self._why_unknown(node))
        written = self._written(node, version)
        tensors = [self._tensor(value) if value else None for value in (*node.inputs, *written)]
        for value, tensor in zip((*node.inputs, *written), tensors, strict=True):
            if tensor is None and value:
                return _skipped(name, node, f"{op_type}: {self._why_unresolved(value)}")
        for position in DECIDING_INPUTS.get(op_type, ()):
            if position < len(node.inputs):
                tensors[position] = self._with_value(node.inputs[position], tensors[position])
        distinct = len(set(node.inputs)) == len(node.inputs)
        key = (
            op_type,
            domain,
            tuple([a.SerializeToString() for a in node.proto.attribute]),
            tuple(tensors),
            len(node.inputs),
            None if distinct else tuple(map(node.inputs.index, node.inputs)),
        )
        made = self._made.get(key)
        if made is None:
            made = self._make(node, version, tensors, written)
            self._made[key] = made
        return ExtractedLayer(
            name,
            op_type,
            domain,
            made.kind,
            made.layer,
            made.fingerprint,
            made.flops,
            made.bytes,
            made.parameters,
        )

    def _make(
        self,
        node: Node,
        version: int,
        given: list[Tensor | None],
        written: tuple[str, ...],
    ) -> ExtractedLayer:
        # Tensors are numbered as `canonical` numbers them: in order, inputs before outputs.
        places: dict[str, int] = {}
        tensors: list[Tensor] = []
        indices: list[int] = []
        for value, tensor in zip((*node.inputs, *written), given, strict=True):
            if tensor is None:
                indices.append(OMITTED)
                continue
            if value not in places:
                places[value] = len(tensors)
                tensors.append(tensor)
            indices.append(places[value])
        count = len(node.inputs)
        shapes = [None if tensor is None else tensor.shape for tensor in given[:count]]
        operator = Operator(
            node.op_type,
            node.domain,
            version,
            attributes(node.op_type, node.domain, version, list(node.proto.attribute), shapes),
            _without_tail(indices[:count]),
            _without_tail(indices[count:]),
        )
        outputs = tuple([index for index in operator.outputs if index != OMITTED])
        layer = Layer(tuple(tensors), (operator,), outputs)
        fingerprint = fingerprint_of_canonical(layer)
        standard = node.domain == ""
        if standard and self._is_view(node, written):
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

    def _is_view(self, node: Node, written: tuple[str, ...]) -> bool:
        inputs = [self._type(name) for name in node.inputs if name]
        outputs = [self._type(name) for name in written if name]
        return is_view(node, inputs, outputs, self._graph.constants, self._readable)

    def _version(self, op_type: str, domain: str) -> int | None:
        opset = self._opsets.get(domain)
        found = None if opset is None else schema(op_type, domain, opset)
        return None if found is None else found.since_version

    def _written(self, node: Node, version: int) -> tuple[str, ...]:
        """The outputs of a node, without the optional ones that nobody reads."""
        if len(node.outputs) == 1:
            return node.outputs
        optional = optional_outputs(node.op_type, node.domain, version)
        return tuple(
            "" if position in optional and value not in self._readable else value
            for position, value in enumerate(node.outputs)
        )

    def _type(self, name: str) -> TensorType:
        found = self._graph.constants.type_of(name)
        assert found is not None, "layers are made of nodes whose types are all known"
        return found

    def _tensor(self, name: str) -> Tensor | None:
        """What a layer says of a value, or None if that isn't known well enough."""
        if name in self._tensors:
            return self._tensors[name]
        known = self._graph.types.get(name)
        if known is None or not known.resolved:
            known = self._graph.constants.type_of(name)
        tensor = None
        if known is not None and known.resolved and known.dtype != "string":
            check_elements(name, known.dims(), self._limits)
            tensor = Tensor(known.dtype, known.dims(), name in self._graph.constants)
        self._tensors[name] = tensor
        return tensor

    def _with_value(self, name: str, tensor: Tensor | None) -> Tensor | None:
        if tensor is None or not tensor.constant:
            return tensor
        value = self._graph.constants.value(name)
        if value is None or value.size > DECIDING_ELEMENTS:
            return tensor
        return Tensor(tensor.dtype, tensor.shape, True, _bytes(value))

    def _why_unknown(self, node: Node) -> str:
        if node.op_type in CONTROL_FLOW and node.domain == "":
            return (
                f"{node.op_type}: what its body runs depends on data; export the model with the "
                "condition or the number of steps fixed"
            )
        where = f"{node.domain or 'ai.onnx'}::{node.op_type}"
        opset = self._opsets.get(node.domain)
        named = "the model names no opset for it" if opset is None else f"opset {opset} has none"
        return (
            f"{where} isn't known to the installed onnx {onnx.__version__} ({named}); export the "
            "model with standard operators, or with this one as a function"
        )

    def _why_unresolved(self, name: str) -> str:
        known = self._graph.constants.type_of(name)
        if known is None:
            return f"{name!r} is no tensor, or its type isn't known{self._hint(())}"
        if known.dtype == "string":
            return f"{name!r} holds strings, which no accelerator works on"
        if known.shape is None:
            return f"{name!r} has unknown rank{self._hint(())}"
        sizes = ", ".join("?" if size is None else str(size) for size in known.shape)
        return f"{name!r} has shape [{sizes}]{self._hint(known.shape)}"

    def _hint(self, shape: tuple[int | str | None, ...]) -> str:
        names = [size for size in shape if isinstance(size, str) and size in self._unbound]
        options = " ".join(f"--dim {name}=N" for name in names or self._unbound)
        return f"; give {options}" if options else "; it depends on the data"


def _skipped(name: str, node: Node, reason: str) -> ExtractedLayer:
    return ExtractedLayer(name, node.op_type, node.domain, "skipped", reason=reason)


def _without_tail(indices: list[int]) -> tuple[int, ...]:
    """Leaves out what is omitted at the end, as `canonical` does."""
    while indices and indices[-1] == OMITTED:
        indices.pop()
    return tuple(indices)


def _first(names: tuple[str, ...]) -> str:
    return next((name for name in names if name), "")


def _bytes(value: Any) -> bytes:
    return bytes(numpy_helper.from_array(np.asarray(value)).raw_data)
