"""How many axes onnx can infer at most for the results of one node."""

from typing import NamedTuple

from onnx import NodeProto

UNBOUNDED = 1 << 62

_BY_LENGTH = {"Reshape": 1, "Expand": 1, "ConstantOfShape": 0, "Col2Im": 1}
"""The input whose number of elements is that of the result's axes, or nearly."""

_ONE_MORE = frozenset("OneHot StringSplit ConcatFromSequence".split())

GROWING = (
    frozenset(_BY_LENGTH)
    | _ONE_MORE
    | frozenset("Gather GatherND Unsqueeze Einsum RandomNormal RandomUniform".split())
)
"""The operators whose results may have more axes than their inputs and than a few."""

FEW_AXES = 4
"""Other operators than `GROWING` have no more axes than this, or than their inputs."""


class AxesBound(NamedTuple):
    """A value has no more axes, and no more elements; None if that isn't known."""

    axes: int
    elements: int | None = None


def axes_of(node: NodeProto, inputs: list[AxesBound]) -> int:
    """The most axes that onnx can infer for a result of this node; `UNBOUNDED` if any number."""
    op_type = node.op_type
    most = max((known.axes for known in inputs), default=0)
    if op_type in _BY_LENGTH:
        position = _BY_LENGTH[op_type]
        listed = ints(node, "shape")  # Reshape before opset 5
        elements = inputs[position].elements if len(inputs) > position else listed
        return UNBOUNDED if elements is None else max(most, elements + 2)
    if op_type in ("Gather", "GatherND"):
        return max(most, sum(known.axes for known in inputs) - 1)
    if op_type == "Unsqueeze":
        # Without known axes nothing is inferred.
        given = inputs[1].elements if len(inputs) > 1 else ints(node, "axes")
        return most + (given or 0)
    if op_type == "Einsum":
        return _einsum(node, most)
    if op_type in _ONE_MORE:
        return most + 1
    return max(most, ints(node, "shape") or 0)


def ints(node: NodeProto, name: str) -> int | None:
    """The number of entries of an attribute; None if it is left out."""
    return next((len(a.ints) for a in node.attribute if a.name == name), None)


def _einsum(node: NodeProto, most: int) -> int:
    equation = next((a.s for a in node.attribute if a.name == "equation"), b"")
    result = equation.rpartition(b"->")[2] if b"->" in equation else equation
    return len(result) + (most if b"..." in result else 0)
