"""Reads a model from a file or a server without keeping the data of its weights in memory.

What `strip` does to an encoded model in memory is done here while it is read, once, from its start
to its end.
"""

from collections.abc import Callable
from typing import NamedTuple

from google.protobuf.message import DecodeError

from benanza_ingest.reading.strip import (
    EXTERNAL,
    UNREAD,
    WHOLE_BYTES,
    Stripper,
    varint,
    within,
)

CHUNK_BYTES = 1 << 20
"""So many bytes are read at a time."""

AT_ONCE_BYTES = 1 << 20
"""Messages of up to this size are read whole, and stripped in memory."""

KEPT_FIELDS = frozenset(("metadata_props",))
"""These may name a model's origin, which others than ingest read."""

_SIZES = {1: 8, 5: 4}
"""The bytes of fields of a fixed size, by wire type."""


class Source:
    """Bytes that are read from a start to an end. `position` counts those that were taken.

    `read` returns up to so many bytes, and none at the end. `forward` leaves so many out, where
    that can be done without reading them.
    """

    def __init__(
        self, read: Callable[[int], bytes], forward: Callable[[int], object] | None = None
    ) -> None:
        self.position = 0
        self._read = read
        self._forward = forward
        self._chunk = memoryview(b"")

    def at_end(self) -> bool:
        """Whether all was taken."""
        if not self._chunk:
            self._chunk = memoryview(self._read(CHUNK_BYTES))
        return not self._chunk

    def take(self, size: int) -> bytes:
        """The next bytes. Raises `DecodeError` if there are fewer."""
        end = self.position + size
        parts = []
        while self.position < end:
            parts.append(self._next(end - self.position))
        return b"".join(parts)

    def skip(self, size: int) -> None:
        """Leaves the next bytes out. Raises `DecodeError` if there are fewer, unless it goes
        forward.
        """
        end = self.position + size
        if self._forward is not None and size > len(self._chunk):
            self._forward(size - len(self._chunk))
            self._chunk = memoryview(b"")
            self.position = end
        while self.position < end:
            self._next(end - self.position)

    def varint(self) -> int:
        """The next number. Raises `DecodeError` if it is cut off."""
        value = shift = 0
        while shift < 64:
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise DecodeError("a number is cut off")

    def _next(self, most: int) -> memoryview:
        if self.at_end():
            raise DecodeError("a field is longer than its message")
        part, self._chunk = self._chunk[:most], self._chunk[most:]
        self.position += len(part)
        return part


def strip_stream(source: Source, kept_bytes: int) -> bytes:
    """What `strip` makes of all that is left in the source, with its `KEPT_FIELDS`.

    Raises `DecodeError` and `ModelError` as `strip` does; the source is then at the place where
    that was found out.
    """
    stripper = Stripper(kept_bytes, UNREAD - KEPT_FIELDS)
    return bytes(_message(source, stripper, "ModelProto", 0, None))


def _message(
    source: Source, stripper: Stripper, name: str, depth: int, end: int | None
) -> bytearray:
    """What remains of the message of this name that ends there, or where the source ends.

    It is copied as it is read: a part of what was read would keep all of it in memory.
    """
    kind = stripper.kind(name, depth)
    left = bytearray()
    data = bytearray()
    data_bytes = 0
    while not source.at_end() if end is None else source.position < end:
        stripper.count_field()
        head, number, size, number_bytes = head_of(source)
        inner = kind.messages.get(number)
        if end is not None and source.position + size > end:
            raise DecodeError("a field is longer than its message")
        if number in kind.unread:
            source.skip(size)
        elif number in kind.data:
            data_bytes += size + number_bytes
            if data_bytes <= stripper.kept_bytes:
                data += head
                data += source.take(size)
            else:
                data.clear()
                source.skip(size)
        elif inner is None or size <= WHOLE_BYTES:
            left += head
            left += source.take(size)
        elif size <= AT_ONCE_BYTES:
            parts = stripper.strip(memoryview(source.take(size)), inner, depth + 1)
            left += b"".join(within(number, parts))
        else:
            message = _message(source, stripper, inner, depth + 1, source.position + size)
            left += b"".join(within(number, [message]))
    if kind.data:
        left += data if stripper.keep(data_bytes) else EXTERNAL
    return left


class FieldHead(NamedTuple):
    """What stands before a field's content, the field's number, and the size of its content. A
    number of any length stands in the head, and is `number_bytes` long there.
    """

    encoded: bytes
    number: int
    size: int
    number_bytes: int = 0


def head_of(source: Source) -> FieldHead:
    """The head of the next field of a message. Raises `DecodeError` for what isn't protobuf."""
    tag = source.varint()
    number, wire_type = tag >> 3, tag & 7
    match wire_type:
        case 0:
            value = varint(source.varint())
            return FieldHead(varint(tag) + value, number, 0, len(value))
        case 1 | 5:
            return FieldHead(varint(tag), number, _SIZES[wire_type])
        case 2:
            size = source.varint()
            return FieldHead(varint(tag) + varint(size), number, size)
    raise DecodeError(f"there is no wire type {wire_type}")
