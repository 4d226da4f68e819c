"""Packs the weights of an ONNX file: read once, from its start to its end, never held as a whole.

What a hostile file can do here is to be refused: protobuf's own decoder gets a model without its
large weights, and single small tensors.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from math import prod
from typing import NamedTuple

from google.protobuf.message import DecodeError
from msgspec.structs import replace
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from benanza.weights.counted_fields import CountedFields
from benanza_backbone.weights.packed import MAX_INDEX_BYTES, PackedWeight, PackedWriter
from benanza_ingest.errors import ModelError
from benanza_ingest.reading.download import Read
from benanza_ingest.reading.parse import check_location, check_text, subgraphs
from benanza_ingest.reading.stream import CHUNK_BYTES, FieldHead, Source
from benanza_schemas.element_types import BITS, FROM_ONNX

PACKED_FROM_BYTES = 1 << 14
"""Smaller weights stay in the model: shapes, scales and biases, which frameworks fold."""

OpenExternal = Callable[[Sequence[str]], AbstractContextManager[Callable[[str], Read]]]
"""Opens the files of these locations beside the model, all at once, to be read by location."""

_MODEL = {field.name: field.number for field in ModelProto.DESCRIPTOR.fields}
_GRAPH = {field.name: field.number for field in GraphProto.DESCRIPTOR.fields}
_TENSOR = {field.name: field.number for field in TensorProto.DESCRIPTOR.fields}

_AS_IN_MEMORY = {_TENSOR[name] for name in ("raw_data", "float_data", "double_data")}
"""Fields whose bytes are those of the array."""


class _External(NamedTuple):
    """Bytes of a file beside the model, and the tensors that they are."""

    offset: int
    size: int
    tensors: list[TensorProto]


class Packed(NamedTuple):
    """The weights that were written, and the model with these as inputs of its graph."""

    weights: list[PackedWeight]
    model: bytes


def pack(source: Source, external: OpenExternal, writer: PackedWriter) -> Packed:
    """Writes the weights in a model's file, of which all is read.

    Raises `ModelError` for what is no model, and as the files beside it are read.
    """
    try:
        packing = _Packing(writer)
        model = packing.model(source, external)
        return Packed(packing.packed, model)
    except DecodeError as error:
        raise ModelError(
            f"not an ONNX model ({error}): the file is cut off or of another format"
        ) from error


class _Packing:
    """The state of packing one model."""

    def __init__(self, writer: PackedWriter) -> None:
        self._writer = writer
        self._fields = CountedFields()
        self._left_bytes = MAX_INDEX_BYTES
        self._kept: list[TensorProto] = []
        self.packed: list[PackedWeight] = []
        self._external: dict[str, list[TensorProto]] = defaultdict(list)

    def model(self, source: Source, external: OpenExternal) -> bytes:
        left, graph = bytearray(), bytearray()
        while not source.at_end():
            head = self._fields.head_of(source)
            if head.number == _MODEL["graph"]:
                graph += self._graph(source, source.position + head.size)
            else:
                left += self._field(source, head)
        self._pack_external(external)
        proto: GraphProto = GraphProto.FromString(bytes(graph))
        if any(map(_has_external, proto.node)):
            raise ModelError(
                "a node of the model has external data in its attributes; save the model again "
                "with those of its initializers alone"
            )
        listed = {value.name for value in proto.input}
        proto.initializer.extend(self._kept)
        proto.input.extend(_input(each) for each in self.packed if each.name not in listed)
        model: ModelProto = ModelProto.FromString(bytes(left))
        if not graph or not model.opset_import:
            raise DecodeError("it has no graph or no opset")
        model.graph.CopyFrom(proto)
        return bytes(model.SerializeToString())

    def _graph(self, source: Source, end: int) -> bytearray:
        """What is left of the graph without its initializers."""
        left = bytearray()
        while source.position < end:
            head = self._fields.head_of(source)
            if head.number == _GRAPH["initializer"]:
                self._initializer(source, source.position + head.size)
            else:
                left += self._field(source, head)
        return left

    def _initializer(self, source: Source, end: int) -> None:
        """Packs one weight, or keeps it, or notes where it lies.

        Its name may come after its data, its type and its shape may not. Of large fields only the
        first can be its data: all that comes before is parsed for that, which takes long for many.
        """
        fields = bytearray()
        data: PackedWeight | None = None
        is_first = True
        while source.position < end:
            head = self._fields.head_of(source)
            if is_first and head.size >= PACKED_FROM_BYTES and head.number in _AS_IN_MEMORY:
                is_first = False
                tensor = TensorProto.FromString(bytes(fields))
                if _fits(tensor, head.size):
                    data = self._writer.add(
                        "", tensor.data_type, tuple(tensor.dims), _parts(source, head.size)
                    )
                    continue
            fields += self._field(source, head)
        if source.position > end:
            raise DecodeError("a field is longer than its message")
        tensor = TensorProto.FromString(bytes(fields))
        check_text([tensor.name])
        if data is not None:
            self.packed.append(replace(data, name=tensor.name))
        elif tensor.data_location == TensorProto.EXTERNAL:
            check_location(tensor)
            self._external[_entry(tensor, "location")].append(tensor)
        else:
            self._kept.append(tensor)

    def _pack_external(self, external: OpenExternal) -> None:
        """Packs what lies in other files. Each is read once, in the order of its bytes."""
        with external(list(self._external)) as opened:
            for location, tensors in self._external.items():
                file = Source(opened(location))
                for place in _places(tensors):
                    if place.offset < file.position:
                        raise ModelError(
                            f"weights overlap in {location}; save the model again with its "
                            "external data"
                        )
                    self._pack_place(file, location, place)

    def _pack_place(self, file: Source, location: str, place: _External) -> None:
        first, *others = place.tensors
        try:
            file.skip(place.offset - file.position)
            if place.size < PACKED_FROM_BYTES or BITS[FROM_ONNX[first.data_type]] < 8:
                content = self._taken(file, place.size)
                self._kept += [_with_content(tensor, content) for tensor in place.tensors]
                return
            weight = self._writer.add(
                first.name, first.data_type, tuple(first.dims), _parts(file, place.size)
            )
        except DecodeError as error:
            raise ModelError(
                f"{location} ends before weight {first.name!r} does; copy it again"
            ) from error
        self.packed.append(weight)
        self.packed += [
            replace(weight, name=each.name, onnx_type=each.data_type, dims=tuple(each.dims))
            for each in others
        ]

    def _field(self, source: Source, head: FieldHead) -> bytes:
        """A field that stays in the model."""
        self._keep(len(head.encoded))
        return head.encoded + self._taken(source, head.size)

    def _taken(self, source: Source, size: int) -> bytes:
        """Bytes that stay in the model."""
        self._keep(size)
        return source.take(size)

    def _keep(self, size: int) -> None:
        self._left_bytes -= size
        if self._left_bytes < 0:
            raise ModelError(
                f"the model has more than {MAX_INDEX_BYTES:,} bytes besides its large weights; "
                "weights below a byte, those in attributes and those saved as numbers of variable "
                "length can't be shared"
            )


def _fits(tensor: TensorProto, size: int) -> bool:
    """Whether so many bytes are the array of this type and shape."""
    bits = BITS.get(FROM_ONNX.get(tensor.data_type, ""), 0)
    return bits >= 8 and min(tensor.dims, default=0) >= 0 and prod(tensor.dims) * bits // 8 == size


def _has_external(node: NodeProto) -> bool:
    return any(
        attribute.t.data_location == TensorProto.EXTERNAL for attribute in node.attribute
    ) or any(
        any(tensor.data_location == TensorProto.EXTERNAL for tensor in body.initializer)
        or any(map(_has_external, body.node))
        for body in subgraphs(node)
    )


def _parts(source: Source, size: int) -> Iterator[bytes]:
    end = source.position + size
    while source.position < end:
        yield source.take(min(CHUNK_BYTES, end - source.position))


def _places(tensors: Sequence[TensorProto]) -> list[_External]:
    """Where the tensors lie in their file, in its order; those at one place together."""
    found: dict[tuple[int, int], list[TensorProto]] = defaultdict(list)
    for tensor in tensors:
        bits = BITS.get(FROM_ONNX.get(tensor.data_type, ""), 0)
        size = -(-prod(tensor.dims) * bits // 8)
        offset, stated = (_entry(tensor, key, "0") for key in ("offset", "length"))
        wrong = not offset.isdecimal() or not stated.isdecimal() or int(stated) not in (0, size)
        if not bits or wrong or min(tensor.dims, default=0) < 0:
            raise ModelError(
                f"weight {tensor.name!r} isn't of the size that its external data are said to "
                "have; save the model again"
            )
        found[int(offset), size].append(tensor)
    return [_External(*place, found[place]) for place in sorted(found)]


def _entry(tensor: TensorProto, key: str, default: str = "") -> str:
    return next((str(e.value) for e in tensor.external_data if e.key == key), default)


def _with_content(tensor: TensorProto, content: bytes) -> TensorProto:
    return TensorProto(
        name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=content
    )


def _input(weight: PackedWeight) -> ValueInfoProto:
    made: ValueInfoProto = helper.make_tensor_value_info(weight.name, weight.onnx_type, weight.dims)
    return made
