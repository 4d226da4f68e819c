"""Makes layers of a graph's nodes, with identity and costs."""

import onnx
from msgspec.structs import replace

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.layering import costs
from benanza_ingest.layering.tensors import NONE, Tensors
from benanza_ingest.layering.views import is_view, why_nothing_runs
from benanza_ingest.limits import Limits
from benanza_ingest.resolving.graph import CONTROL_FLOW, Graph, Node
from benanza_ingest.resolving.operators import (
    attributes,
    read_attribute,
    since_version,
    window_of,
)
from benanza_schemas.identity import canonical, fingerprint_of_canonical
from benanza_schemas.layer import OMITTED, Attribute, Layer, Operator, Tensor
from benanza_schemas.operators.table import facts_of

_EXTENSIONS = ("ai.onnx.contrib", "com.microsoft.extensions")
"""Domains of https://github.com/microsoft/onnxruntime-extensions."""


class _Given(dict[bytes, Attribute]):
    """A cache of attributes by their encoded form, since the same ones occur often."""

    def __missing__(self, encoded: bytes) -> Attribute:
        self[encoded] = attribute = read_attribute(encoded)
        return attribute


class Layers:
    """Makes the layers of one graph. Equal nodes are processed once."""

    def __init__(self, graph: Graph, opsets: dict[str, int], limits: Limits) -> None:
        self._graph = graph
        self._opsets = opsets
        self._tensors = Tensors(graph, limits)
        self._made: dict[object, ExtractedLayer] = {}
        self._attributes: dict[object, tuple[Attribute, ...]] = {}
        self._given = _Given()

    def layer(self, node: Node) -> ExtractedLayer:
        """The layer of a node; a skipped one, with the reason, if a layer can't be made of it."""
        op_type, domain, inputs = node.op_type, node.domain, node.inputs
        name = node.title()
        opset = self._opsets.get(domain)
        version = since_version(op_type, domain, max(opset, node.opset) if opset else None)
        if version is None:
            return _skipped(name, node, self._why_unknown(node))
        if op_type in CONTROL_FLOW:
            what, cause = self._graph.causes.of_control_flow(node)
            return _skipped(name, node, f"{op_type}: {what}; {cause.hint()}")
        values = inputs + node.outputs
        numbers = self._tensors.numbers(values)
        if NONE in numbers:
            for value, number in zip(values, numbers, strict=True):
                if number == NONE and value:
                    return _skipped(name, node, f"{op_type}: {self._why_unresolved(value)}")
        for position in facts_of(op_type, domain).deciding + node.deciding:
            if position < len(inputs) and inputs[position]:
                numbers[position] = self._tensors.with_value(inputs[position])
        given = tuple([attribute.SerializeToString() for attribute in node.proto.attribute])
        wires = _wires(values)
        alike = (
            op_type,
            domain,
            given,
            wires,
            len(inputs),
            tuple(numbers),
            node.in_place,
            node.appends,
            version,
        )
        made = self._made.get(alike)
        if made is None:
            try:
                made = self._make(node, version, given, wires, numbers)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                # A file can contradict an operator's definition in too many ways to list.
                why = " ".join(f"{op_type} isn't as ONNX defines it ({error})".split())
                return _skipped(name, node, f"{why}; export the model again")
            self._made[alike] = made
        return replace(made, name=name)

    def _make(
        self,
        node: Node,
        version: int,
        given: tuple[bytes, ...],
        wires: tuple[int, ...],
        numbers: list[int],
    ) -> ExtractedLayer:
        """The layer, without its name, of a node that reads and writes these tensors."""
        described = [self._tensors[number] for number in numbers]
        tensors = dict(zip(wires, described, strict=True))
        tensors.pop(OMITTED, None)
        count = len(node.inputs)
        operator = Operator(
            node.op_type,
            node.domain,
            version,
            self._attributes_of(node, version, given, described),
            _without_tail(wires[:count]),
            _without_tail(wires[count:]),
        )
        outputs = tuple([place for place in operator.outputs if place != OMITTED])
        layer = Layer(tuple(tensors.values()), (operator,), outputs)
        if len(outputs) > 1:
            layer = canonical(layer)
        fingerprint = fingerprint_of_canonical(layer)
        reason = why_nothing_runs(layer)
        may_be_view = not node.domain and not node.appends
        if reason or (may_be_view and is_view(node, layer, self._graph.constants)):
            named = node.op_type, node.domain
            return ExtractedLayer(*named, "view", fingerprint, reason=reason, name="", layer=layer)
        return ExtractedLayer(
            node.op_type,
            node.domain,
            "movement" if node.appends or facts_of(node.op_type, node.domain).moves else "compute",
            fingerprint,
            costs.flops(layer),
            costs.moved_bytes(layer),
            costs.parameters(layer),
            name="",
            layer=layer,
        )

    def _attributes_of(
        self, node: Node, version: int, given: tuple[bytes, ...], described: list[Tensor]
    ) -> tuple[Attribute, ...]:
        window = window_of(node.op_type, described)
        alike = (node.op_type, node.domain, given, window)
        known = self._attributes.get(alike)
        if known is None:
            known = self._attributes[alike] = attributes(
                node.op_type, node.domain, version, [self._given[a] for a in given], window
            )
        return known

    def _why_unknown(self, node: Node) -> str:
        where = f"{node.domain or 'ai.onnx'}::{node.op_type}"
        if node.domain in _EXTENSIONS:
            return (
                f"{where} is of ONNX Runtime Extensions, which work on text and encoded files and "
                "aren't measured here; give the part of the model that works on tensors, as "
                "onnx.utils.extract_model writes it"
            )
        opset = self._opsets.get(node.domain)
        named = "the model names no opset for it" if opset is None else f"opset {opset} has none"
        return (
            f"{where} isn't known to the installed onnx {onnx.__version__} ({named}); export the "
            "model with standard operators, or with this one as a function"
        )

    def _why_unresolved(self, name: str) -> str:
        known = self._graph.constants.type_of(name)
        if known is not None and known.dtype == "string":
            return f"{name!r} holds strings, which no accelerator works on"
        if known is None:
            what = "is no tensor, or its type isn't known"
        elif known.shape is None:
            what = "has unknown rank"
        else:
            sizes = ", ".join("?" if size is None else str(size) for size in known.shape)
            what = f"has shape [{sizes}]"
        return f"{name!r} {what}; {self._graph.causes.of(name).hint()}"


def _skipped(name: str, node: Node, reason: str) -> ExtractedLayer:
    reason_line = " ".join(reason.split())
    return ExtractedLayer(node.op_type, node.domain, "skipped", reason=reason_line, name=name)


def _wires(values: tuple[str, ...]) -> tuple[int, ...]:
    """Numbers for the values as `canonical` assigns them: in the order of the operator's names."""
    if len(set(values)) == len(values) and "" not in values:
        return tuple(range(len(values)))
    places = {"": OMITTED}
    return tuple([places.setdefault(value, len(places) - 1) for value in values])


def _without_tail(wires: tuple[int, ...]) -> tuple[int, ...]:
    """Without the omitted ones at the end, as `canonical` has it."""
    while wires and wires[-1] == OMITTED:
        wires = wires[:-1]
    return wires
