"""A layer: a small graph of operators, without names and weights, that is benchmarked.

Most layers have one operator. A group of operators that a library may run as one call, or a
sequence of operators, has the same form.
"""

from typing import Annotated, Literal

import msgspec

from benanza_schemas.limits import (
    MOST_ITEMS,
    MOST_NAMED,
    Axes,
    Name,
    Places,
    Positions,
    Size,
    Text,
    Whole,
)

OMITTED = -1
"""Stands in an operator's inputs or outputs for an optional one that is left out."""


class TensorValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor with the values of its elements.

    `dtype` is ONNX's name in lower case (`float32`, `bfloat16`, `int4`); `data` holds the
    elements in row-major order, little-endian, as `TensorProto.raw_data` does.
    """

    dtype: Name
    shape: Axes
    data: bytes


class Tensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor that an operator reads or writes.

    `constant` says that the model fixes the tensor (a weight). `value` holds the bytes, laid out
    as in `TensorValue`, of a constant that decides what the operator does, such as the shape for
    a Reshape, or which function several operators are. Of other constants only shape and type are
    known.
    """

    dtype: Name
    shape: Axes
    constant: bool = False
    value: bytes | None = None


AttributeItem = Size | float | Text
AttributeItems = Annotated[tuple[AttributeItem, ...], msgspec.Meta(max_length=MOST_ITEMS)]
AttributeValue = AttributeItem | AttributeItems | TensorValue
"""The value of an attribute. Text that is not UTF-8 is a tensor of type `string`."""


class Attribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operator's attribute. An attribute that the model leaves out has its default here."""

    name: Name
    value: AttributeValue


class Operator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ONNX operator; `version` is the opset version that last changed its meaning.

    `inputs` and `outputs` are positions in the layer's `tensors`, or `OMITTED`. `attributes` are
    sorted by name.
    """

    op_type: Name
    domain: Name
    version: Whole
    attributes: Annotated[tuple[Attribute, ...], msgspec.Meta(max_length=MOST_NAMED)]
    inputs: Places
    outputs: Places

    def attribute(self, name: str) -> AttributeValue | None:
        """An attribute's value; None if the operator doesn't have it."""
        return next(
            (attribute.value for attribute in self.attributes if attribute.name == name), None
        )

    def integer(self, name: str, default: int = 0) -> int:
        """An attribute of one integer."""
        value = self.attribute(name)
        return value if isinstance(value, int) else default

    def number(self, name: str, default: float) -> float:
        """An attribute of one number."""
        value = self.attribute(name)
        return float(value) if isinstance(value, (int, float)) else default

    def text(self, name: str, default: str) -> str:
        """An attribute of one text."""
        value = self.attribute(name)
        return value if isinstance(value, str) else default

    def integers(self, name: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """An attribute of several integers. An empty list counts as left out."""
        return tuple([v for v in self._items(name) if isinstance(v, int)]) or default

    def texts(self, name: str) -> tuple[str, ...]:
        """An attribute of several texts, empty if the operator doesn't have it."""
        return tuple([v for v in self._items(name) if isinstance(v, str)])

    def _items(self, name: str) -> AttributeItems:
        value = self.attribute(name)
        return value if isinstance(value, tuple) else ()


Execution = Literal["call", "network"]
"""How the operators of a layer run: as one call, as a library may do; or one after the other, as a
network of its own does.
"""


class Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A graph of operators in topological order.

    `outputs` are the positions of the tensors that are read outside the layer, at least one. A
    tensor that no operator writes is an input of the layer. `benanza_schemas.identity.canonical`
    returns the same form for all layers that differ in names and order only.
    """

    tensors: Annotated[tuple[Tensor, ...], msgspec.Meta(max_length=MOST_ITEMS)]
    operators: Annotated[tuple[Operator, ...], msgspec.Meta(max_length=MOST_ITEMS)]
    outputs: Positions
    execution: Execution = "call"
    """Not encoded where it is `call`: layers from before there were networks keep their bytes."""

    def __post_init__(self) -> None:
        if self.outputs and max(self.outputs) >= len(self.tensors):
            raise ValueError(f"the output {max(self.outputs)} isn't among the layer's tensors")

    def inputs(self) -> tuple[int, ...]:
        """The positions of the layer's inputs, weights among them, ascending."""
        written = {index for operator in self.operators for index in operator.outputs}
        return tuple(i for i in range(len(self.tensors)) if i not in written)

    def title(self) -> str:
        """The names of the operators in order, for people: `Conv+BatchNormalization+Relu`."""
        return "+".join(operator.op_type for operator in self.operators)


Kind = Literal["compute", "view", "movement", "skipped"]
"""What a layer does: it computes, changes only the shape, moves bytes; or that isn't known."""

Precision = Literal["fp32", "tf32", "fp16", "bf16"]
"""The type in which the floating-point tensors of a layer are stored and multiplied."""

Accounting = Literal["paper", "full"]
"""What a bound counts: `full` every layer, by its fastest kernel; `paper` the operators that the
2020 paper lists, by calls of cuDNN and cuBLAS (of ONNX Runtime on CPUs)."""
