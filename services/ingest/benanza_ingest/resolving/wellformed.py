"""Checks what compiled code assumes of a model, before that code gets the model.

onnx's shape inference ends the process, instead of raising an error, for some invalid nodes. And
names that aren't text would make events that can't be decoded.
"""

import re
from dataclasses import dataclass
from functools import cache
from sys import maxsize

from onnx import GraphProto
from onnx.defs import OpSchema

from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import (
    MAX_AXES,
    check_count,
    check_text,
    check_value_names,
    subgraphs,
)
from benanza_ingest.resolving.graph import Node, inner_node
from benanza_ingest.resolving.operators import schema

_TERM = rb"[A-Za-z ]*(\.\.\.[A-Za-z ]*)?"
_EQUATION = re.compile(_TERM + rb"(," + _TERM + rb")*(->" + _TERM + rb")?")

_UNCHECKED = {
    "GatherND": "batch_dims",
    "LayerNormalization": "axis",
    "Split": "num_outputs",
}
"""Attributes that onnx 1.23 uses as an index or a count without checking them."""


@dataclass(frozen=True)
class _Signature:
    """The numbers of inputs and outputs that an operator may have. `required` holds the positions
    of inputs that can't be left out.
    """

    inputs: range
    outputs: range
    required: tuple[int, ...]
    has_bodies: bool


_UNKNOWN = _Signature(range(maxsize), range(maxsize), (), has_bodies=True)


def check_nodes(nodes: list[Node], opsets: dict[str, int], limits: Limits) -> None:
    """Checks all nodes, also those of bodies.

    Raises `ModelError` for more nodes than the limits allow, for a node with inputs or outputs that
    its operator can't have, for an invalid axis, and for a name that isn't UTF-8.
    """
    fitting: dict[tuple[str, str, int, int], _Signature] = {}
    count = len(nodes)
    pending = [nodes]
    while pending:
        for node in pending.pop():
            key = (node.op_type, node.domain, len(node.inputs), len(node.outputs))
            signature = fitting.get(key)
            if signature is None:
                signature = fitting[key] = _fitting(node, opsets)
            if "" in node.inputs:
                _check_required(node, signature)
            if node.op_type in _UNCHECKED:
                _check_size(node)
            if node.op_type == "Einsum":
                _check_equation(node)
            if signature.has_bodies:
                bodies = list(subgraphs(node.proto))
                count += sum(len(body.node) for body in bodies)
                check_count(count, limits)
                pending.extend(map(_nodes_of, bodies))
    check_text([node.name for node in nodes])


def _nodes_of(body: GraphProto) -> list[Node]:
    nodes = [inner_node(proto) for proto in body.node]
    check_value_names([value.name for value in body.input])
    check_value_names([tensor.name for tensor in body.initializer])
    for node in nodes:
        check_text((node.name,))
        check_value_names((*node.inputs, *node.outputs))
    return nodes


def _fitting(node: Node, opsets: dict[str, int]) -> _Signature:
    check_text((node.op_type, node.domain))
    signature = _signature(node.op_type, node.domain, opsets.get(node.domain))
    if len(node.inputs) not in signature.inputs:
        raise _misfit(node, f"{len(node.inputs)} inputs", signature.inputs)
    if len(node.outputs) not in signature.outputs:
        raise _misfit(node, f"{len(node.outputs)} outputs", signature.outputs)
    return signature


def _check_required(node: Node, signature: _Signature) -> None:
    for position in signature.required:
        if not node.inputs[position]:
            raise ModelError(f"{_title(node)} lacks input {position + 1}; export it again")


@cache
def _signature(op_type: str, domain: str, opset: int | None) -> _Signature:
    definition = schema(op_type, domain, opset)
    if definition is None:
        return _UNKNOWN
    single = OpSchema.FormalParameterOption.Single
    graphs = (OpSchema.AttrType.GRAPH, OpSchema.AttrType.GRAPHS)
    return _Signature(
        inputs=range(definition.min_input, definition.max_input + 1),
        outputs=range(definition.min_output, definition.max_output + 1),
        required=tuple(
            i
            for i in range(definition.min_input)
            if definition.inputs[i : i + 1] and definition.inputs[i].option == single
        ),
        has_bodies=any(a.type in graphs for a in definition.attributes.values()),
    )


def _misfit(node: Node, given: str, allowed: range) -> ModelError:
    fewest, most = allowed[0], allowed[-1]
    numbers = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return ModelError(f"{_title(node)} has {given}, and takes {numbers}; export the model again")


def _check_size(node: Node) -> None:
    for attribute in node.proto.attribute:
        if attribute.name != _UNCHECKED[node.op_type]:
            continue
        fits = abs(attribute.i) <= MAX_AXES
        if node.op_type == "Split":
            fits = attribute.i == len(node.outputs)
        if not fits:
            raise ModelError(
                f"{_title(node)} can't have {attribute.name} {attribute.i}; export it again"
            )


def _check_equation(node: Node) -> None:
    """Checks the equation of an Einsum: on an invalid one, onnx 1.23 never returns."""
    for attribute in node.proto.attribute:
        if attribute.name == "equation" and not _EQUATION.fullmatch(attribute.s):
            raise ModelError(f"{_title(node)} has an equation that is none; export it again")


def _title(node: Node) -> str:
    return f"node {node.title()!r} ({node.op_type})"
