"""What is known of a tensor's type: element type and shape, read lazily from ONNX's protos."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from benanza_schemas.element_types import FROM_ONNX, TO_ONNX
from onnx import ModelProto, TensorProto, TypeProto, ValueInfoProto


@dataclass(frozen=True, slots=True)
class TensorType:
    """`shape` holds a number for each known dimension, a name for one that the user may bind,
    and None for one that nothing is known of; it is None itself where not even the rank is.
    """

    dtype: str
    shape: tuple[int | str | None, ...] | None
    resolved: bool = False

    def dims(self) -> tuple[int, ...]:
        """The shape of a resolved type."""
        return self.shape  # type: ignore[return-value]  # `resolved` says that all are numbers

    def elements(self) -> int:
        """How many elements a tensor of this resolved type has."""
        return prod(self.dims())


def tensor_type(dtype: str, shape: tuple[int | str | None, ...] | None) -> TensorType:
    """A tensor's type, `resolved` where every dimension is a number."""
    resolved = shape is not None and all(type(size) is int for size in shape)
    return TensorType(dtype, shape, resolved)


class Types:
    """The types of a graph's values, by name."""

    def __init__(self, model: ModelProto | None = None) -> None:
        self._known: dict[str, TensorType | None] = {}
        self._protos: dict[str, TypeProto] = {}
        self._values: dict[str, ValueInfoProto] = {}
        self._read: dict[bytes, TensorType | None] = {}
        if model is not None:
            self.add_values(model.graph.value_info)
            self.add_values(model.graph.output)
            self.add_values(model.graph.input)

    def add_values(self, values: Iterable[ValueInfoProto]) -> None:
        """Takes in what a graph says of its values; read only when asked for."""
        for value in values:
            self._values[value.name] = value

    def get(self, name: str) -> TensorType | None:
        """The type of a value, or None if it isn't known or isn't a tensor's."""
        if name in self._known:
            return self._known[name]
        found = None
        if name in self._values:
            # A model has few distinct types, and taking one apart is slow.
            encoded = self._values[name].type.SerializeToString()
            if encoded not in self._read:
                self._read[encoded] = from_proto(self._values[name].type)
            found = self._read[encoded]
        self._known[name] = found
        return found

    def set(self, name: str, known: TensorType) -> None:
        """Says what the type of a value is, whatever was known before."""
        self._known[name] = known
        self._protos.pop(name, None)
        self._values.pop(name, None)

    def proto(self, name: str) -> TypeProto | None:
        """The type as shape inference takes it."""
        if name in self._values:
            value: TypeProto = self._values[name].type
            return value
        known = self._known.get(name)
        if known is None:
            return None
        if name not in self._protos:
            self._protos[name] = to_proto(known)
        return self._protos[name]


def of_tensor(tensor: TensorProto) -> TensorType | None:
    """A constant's type, or None where its element type is one that nobody knows."""
    dtype = FROM_ONNX.get(tensor.data_type)
    return None if dtype is None else TensorType(dtype, tuple(tensor.dims), resolved=True)


def from_proto(proto: TypeProto) -> TensorType | None:
    """A tensor's type, or None for a sequence, a map, an optional or an unknown type."""
    if not proto.HasField("tensor_type"):
        return None
    tensor = proto.tensor_type
    dtype = FROM_ONNX.get(tensor.elem_type)
    if dtype is None:
        return None
    if not tensor.HasField("shape"):
        return TensorType(dtype, None)
    shape: list[int | str | None] = []
    resolved = True
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            shape.append(dim.dim_value)
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
