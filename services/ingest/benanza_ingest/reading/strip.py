"""Removes what ingest doesn't read from an encoded model, before it is decoded.

A decoded weight can take twelve times its bytes in the file, and shape inference would copy it
again. So the data are removed first, by protobuf's wire format: a message is a sequence of fields,
each with its number and its length.
https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto

from benanza_ingest.errors import ModelError

MAX_FIELDS = 2_000_000
"""No model within the limits has more. To count further would take minutes."""

MAX_KEPT_BYTES = 1 << 24
"""The largest sum of data that is kept, besides the smallest tensors: it is copied often."""

_MAX_DEPTH = 100
"""The deepest nesting of messages: protobuf's own limit."""

WHOLE_BYTES = 256
"""Messages up to this size are left as they are."""

UNREAD = frozenset(("doc_string", "metadata_props", "training_info"))
"""Fields that ingest doesn't read."""

_DATA = frozenset(
    "float_data int32_data int64_data uint64_data double_data string_data raw_data".split()
)
EXTERNAL = TensorProto(data_location=TensorProto.EXTERNAL).SerializeToString()

_LENGTH = 2
"""The wire type of fields with a length: bytes, text, messages, packed numbers."""

Parts = list[bytes | bytearray | memoryview]


def strip(model: bytes, kept_bytes: int) -> bytes:
    """An encoded `ModelProto` without documentation, and without the data of those tensors that
    have more than `kept_bytes` bytes of it. Such a tensor is marked as one with external data.

    Raises `DecodeError` if `model` isn't protobuf, and `ModelError` for more than `MAX_FIELDS`.
    """
    return b"".join(Stripper(kept_bytes, UNREAD).strip(memoryview(model), "ModelProto", 0))


class Kind(NamedTuple):
    """The numbers of those fields of a message that are not read or can be large. `messages` holds
    the names of the messages inside the message.
    """

    unread: frozenset[int]
    data: frozenset[int]
    messages: dict[int, str]


@cache
def kind_of(name: str, unread: frozenset[str]) -> Kind:
    """What is known of the message of this name."""
    known = ModelProto.DESCRIPTOR.file.message_types_by_name
    fields = known[name].fields
    return Kind(
        unread=frozenset(field.number for field in fields if field.name in unread),
        data=frozenset(field.number for field in fields if field.name in _DATA),
        messages={
            field.number: field.message_type.name
            for field in fields
            if field.message_type is not None and field.message_type.name in known
        },
    )


class _Field(NamedTuple):
    """A field's number, with the positions of its start, of its content, and of its end."""

    number: int
    start: int
    content: int
    end: int


class Stripper:
    """Strips the messages of one model, which together may have `MAX_FIELDS` fields.

    A tensor keeps up to `kept_bytes` bytes of data.
    """

    def __init__(self, kept_bytes: int, unread: frozenset[str]) -> None:
        self.kept_bytes = kept_bytes
        self._unread = unread
        self._bytes_left = MAX_KEPT_BYTES
        self._fields_left = MAX_FIELDS

    def strip(self, message: memoryview, name: str, depth: int) -> Parts:
        """What remains of a message, in parts to join. Raises as `strip` does."""
        kind = self.kind(name, depth)
        large = bool(kind.data) and not self._keeps(message, kind)
        parts: Parts = []
        copied = 0
        for number, start, content, end in self._fields(message):
            if number in kind.unread or (large and number in kind.data):
                parts.append(message[copied:start])
            elif number in kind.messages and end - content > WHOLE_BYTES:
                inner = self.strip(message[content:end], kind.messages[number], depth + 1)
                parts.append(message[copied:start])
                parts += within(number, inner)
            else:
                continue
            copied = end
        parts.append(message[copied:])
        if large:
            parts.append(EXTERNAL)
        return parts

    def kind(self, name: str, depth: int) -> Kind:
        """That of a message so deep in others. Raises `DecodeError` if that is too deep."""
        if depth > _MAX_DEPTH:
            raise DecodeError("messages lie too deep in each other")
        return kind_of(name, self._unread)

    def count_field(self) -> None:
        """Counts a field. Raises `ModelError` after `MAX_FIELDS`."""
        self._fields_left -= 1
        if self._fields_left < 0:
            raise ModelError(
                f"the file has more than {MAX_FIELDS:,} fields; if an attribute of a node "
                "holds many numbers, make them a weight"
            )

    def keep(self, data_bytes: int) -> bool:
        """Whether a tensor with so many bytes of data keeps them; if so, they are counted."""
        if data_bytes > self.kept_bytes or data_bytes > self._bytes_left:
            return False
        self._bytes_left -= data_bytes
        return True

    def _keeps(self, tensor: memoryview, kind: Kind) -> bool:
        fields = self._fields(tensor)
        data = sum(end - content for number, _, content, end in fields if number in kind.data)
        return self.keep(data)

    def _fields(self, message: memoryview) -> Iterator[_Field]:
        position = 0
        while position < len(message):
            start = position
            tag, position = _read_varint(message, position)
            match tag & 7:
                case 2:
                    length, position = _read_varint(message, position)
                    end = position + length
                case 0:
                    _, end = _read_varint(message, position)
                case 1:
                    end = position + 8
                case 5:
                    end = position + 4
                case other:
                    raise DecodeError(f"there is no wire type {other}")
            if end > len(message):
                raise DecodeError("a field is longer than its message")
            self.count_field()
            yield _Field(tag >> 3, start, position, end)
            position = end


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    """The number in groups of seven bits, the lowest first; and the position after it."""
    value = shift = 0
    while position < len(message) and shift < 64:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise DecodeError("a number is cut off")


def within(number: int, inner: Parts) -> Parts:
    """A message as a field of this number in another."""
    return [varint(number << 3 | _LENGTH) + varint(sum(map(len, inner))), *inner]


def varint(value: int) -> bytes:
    """A number in groups of seven bits, the lowest first."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
