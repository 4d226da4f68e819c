"""A layer: the small graph of operators that is benchmarked, without names and weights.

One operator is the ordinary case; a group of operators that a library may run as one call,
or a sequence, has the same form.
"""

from typing import Annotated, Literal

import msgspec

OMITTED = -1
"""Stands in an operator's inputs or outputs where an optional one is left out."""

MAX_WHOLE = 2**32 - 1
Whole = Annotated[int, msgspec.Meta(ge=0, le=MAX_WHOLE)]
"""A version, a position or a count of calls: no more than the store's columns have room for."""

Size = Annotated[int, msgspec.Meta(le=2**63 - 1)]
"""Of a tensor along an axis, likewise."""


class TensorValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor with its elements.

    `dtype` is ONNX's name in lower case (`float32`, `bfloat16`, `int4`); `data` holds the
    elements in row-major order, little-endian, as `TensorProto.raw_data` does.
    """

    dtype: str
    shape: tuple[int, ...]
    data: bytes


class Tensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an operator reads or writes.

    `constant` says that the model fixes it (a weight); `value` holds the bytes, laid out as
    in `TensorValue`, of those constants that decide what the operator does, such as the shape
    that a Reshape is given. Other constants are known by shape and type alone.
    """

    dtype: str
    shape: tuple[Size, ...]
    constant: bool = False
    value: bytes | None = None


AttributeValue = int | float | str | tuple[int | float | str, ...] | TensorValue
"""What an attribute may hold. Text that is not UTF-8 is a tensor of type `string`."""


class Attribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operator's attribute; those that the model leaves out stand with their defaults."""

    name: str
    value: AttributeValue


class Operator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ONNX operator; `version` is the opset version that last changed its meaning.

    `inputs` and `outputs` are positions in the layer's `tensors`, or `OMITTED`. Attributes
    are sorted by name.
    """

    op_type: str
    domain: str
    version: Whole
    attributes: tuple[Attribute, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A graph of operators in topological order.

    `outputs` are the positions of the tensors that are read outside the layer, at least one.
    What no operator writes is an input of the layer. `benanza_schemas.identity.canonical`
    gives the one form that all layers which differ in names and order only share.
    """

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    outputs: tuple[int, ...]

    def inputs(self) -> tuple[int, ...]:
        """Positions of the tensors that come from outside, weights among them, in order."""
        written = {index for operator in self.operators for index in operator.outputs}
        return tuple(i for i in range(len(self.tensors)) if i not in written)

    def title(self) -> str:
        """The operators' names in order, for people: `Conv+BatchNormalization+Relu`."""
        return "+".join(operator.op_type for operator in self.operators)


Kind = Literal["compute", "view", "movement", "skipped"]
"""What a layer does: computes; gives the same bytes another shape; moves bytes; unknown."""

Precision = Literal["fp32", "tf32", "fp16", "bf16"]
"""In which type the floating-point tensors of a layer are kept and multiplied."""

Accounting = Literal["paper", "full"]
"""What a bound counts: `paper`, what cuDNN and cuBLAS execute; `full`, data movement too."""
