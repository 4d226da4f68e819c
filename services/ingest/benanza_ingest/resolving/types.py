"""The types of tensors, as far as they are known: element type and shape."""

from collections.abc import Iterable
from math import prod

import msgspec
from onnx import TensorProto, TypeProto, ValueInfoProto

from benanza_ingest.reading.parse import MAX_AXES
from benanza_schemas.element_types import FROM_ONNX, TO_ONNX


class TensorType(msgspec.Struct, frozen=True):
    """The type of a tensor. `shape` holds a number for a known dimension, a name for one that the
    user may bind, and None for an unknown one; it is None if not even the rank is known. `resolved`
    says that all dimensions are numbers.
    """

    dtype: str
    shape: tuple[int | str | None, ...] | None
    resolved: bool = False

    def dims(self) -> tuple[int, ...]:
        """The shape. Call it only if the type is resolved."""
        return self.shape  # type: ignore[return-value]  # `resolved` says that all are numbers

    def elements(self) -> int:
        """The number of elements. Call it only if the type is resolved."""
        return prod(self.dims())


def tensor_type(dtype: str, shape: tuple[int | str | None, ...] | None) -> TensorType:
    """A tensor's type, resolved if every dimension is a number."""
    resolved = shape is not None and all(type(size) is int for size in shape)
    return TensorType(dtype, shape, resolved)


class _Read(dict[bytes, TensorType | None]):
    """A cache of types by their encoded form: a model has few, and decoding is slow."""

    def __missing__(self, encoded: bytes) -> TensorType | None:
        self[encoded] = known = from_proto(TypeProto.FromString(encoded))
        return known


class Types(dict[str, TensorType | None]):
    """The types of a graph's values, by name; None for a value that is no tensor."""

    def __init__(self) -> None:
        super().__init__()
        self._read = _Read()
        self._protos: dict[TensorType, TypeProto] = {}

    def add_values(self, values: Iterable[ValueInfoProto]) -> None:
        """Adds the types that a graph declares for its values."""
        read = self._read
        self.update([(value.name, read[value.type.SerializeToString()]) for value in values])

    def proto(self, known: TensorType) -> TypeProto:
        """The type as a proto, for shape inference."""
        if known not in self._protos:
            self._protos[known] = to_proto(known)
        return self._protos[known]


def of_tensor(tensor: TensorProto) -> TensorType | None:
    """A constant's type; None if its element type isn't known."""
    dtype = FROM_ONNX.get(tensor.data_type)
    return None if dtype is None else TensorType(dtype, tuple(tensor.dims), resolved=True)


def from_proto(proto: TypeProto) -> TensorType | None:
    """A tensor's type; None for a sequence, a map, an optional or an unknown type."""
    if not proto.HasField("tensor_type"):
        return None
    tensor = proto.tensor_type
    dtype = FROM_ONNX.get(tensor.elem_type)
    if dtype is None:
        return None
    if not tensor.HasField("shape") or len(tensor.shape.dim) > MAX_AXES:
        return TensorType(dtype, None)
    shape: list[int | str | None] = []
    resolved = True
    for dim in tensor.shape.dim:
        size = dim.dim_value
        if size > 0 or (size == 0 and dim.HasField("dim_value")):
            shape.append(size)
        else:
            resolved = False
            shape.append(dim.dim_param or None)
    return TensorType(dtype, tuple(shape), resolved)


def to_proto(known: TensorType) -> TypeProto:
    """The inverse of `from_proto`."""
    proto = TypeProto()
    proto.tensor_type.elem_type = TO_ONNX[known.dtype]
    if known.shape is not None:
        shape = proto.tensor_type.shape
        shape.SetInParent()
        for size in known.shape:
            dim = shape.dim.add()
            if isinstance(size, int):
                dim.dim_value = size
            elif size is not None:
                dim.dim_param = size
    return proto
