"""Weights as they lie in shared memory and on disk: data first, what is where at the end.

    weights, each at a multiple of ALIGNMENT | model | index (MessagePack) | footer

The model is an ONNX file whose large weights are inputs of its graph, so that a framework takes
them from wherever they are. Small ones are in it: they are constants that frameworks fold.
"""

import mmap
import struct
from collections.abc import Callable, Iterable

import msgspec

ALIGNMENT = 64
"""In bytes: a line of a processor's cache, and the longest vector that it loads at once."""

MAX_INDEX_BYTES = 1 << 28
"""The largest index that is read, and the largest model beside the weights."""

_FOOTER = struct.Struct("<8sQ")
_MAGIC = b"BNZ-W-01"

Buffer = bytes | bytearray | memoryview | mmap.mmap
Write = Callable[[bytes | bytearray | memoryview], object]
"""Writes all of these bytes behind those before."""


class PackedError(Exception):
    """These bytes are no packed weights."""


class PackedWeight(msgspec.Struct, frozen=True, array_like=True):
    """A weight: its element type by ONNX's number, its shape, and the bytes where it lies."""

    name: str
    onnx_type: int
    dims: tuple[int, ...]
    offset: int
    size: int


class PackedIndex(msgspec.Struct, frozen=True):
    """What is where: the weights and the model. `model_sha256` is that of the published file."""

    model_sha256: str
    model_offset: int
    model_size: int
    weights: tuple[PackedWeight, ...]


_INDEXES = msgspec.msgpack.Decoder(PackedIndex)


class PackedWriter:
    """Writes packed weights from their start to their end."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._position = 0

    def add(
        self,
        name: str,
        onnx_type: int,
        dims: tuple[int, ...],
        content: Iterable[bytes | memoryview],
    ) -> PackedWeight:
        """Writes one more weight; its bytes come in parts."""
        self._put(bytes(-self._position % ALIGNMENT))
        offset = self._position
        for part in content:
            self._put(part)
        return PackedWeight(name, onnx_type, dims, offset, self._position - offset)

    def finish(self, weights: Iterable[PackedWeight], model: bytes, model_sha256: str) -> None:
        """Writes the model, and the index with these weights, which `add` has returned; their
        names, types and shapes may be others.
        """
        offset = self._position
        self._put(model)
        index = msgspec.msgpack.encode(
            PackedIndex(model_sha256, offset, len(model), tuple(weights))
        )
        self._put(index)
        self._put(_FOOTER.pack(_MAGIC, len(index)))

    def _put(self, part: bytes | memoryview) -> None:
        self._write(part)
        self._position += len(part)


def index_of(packed: Buffer) -> PackedIndex:
    """The index in packed weights. Raises `PackedError` if there is none, or if it names what lies
    outside.
    """
    end = len(packed) - _FOOTER.size
    if end < 0:
        raise PackedError("too few bytes")
    magic, size = _FOOTER.unpack(packed[end:])
    if magic != _MAGIC or size > min(end, MAX_INDEX_BYTES):
        raise PackedError("no footer")
    try:
        index = _INDEXES.decode(packed[end - size : end])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PackedError(f"no index: {error}") from error
    places = [(index.model_offset, index.model_size)]
    places += [(weight.offset, weight.size) for weight in index.weights]
    if any(offset < 0 or size < 0 or offset + size > end for offset, size in places):
        raise PackedError("a weight lies outside")
    return index
