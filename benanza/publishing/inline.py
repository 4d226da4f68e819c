"""The content of an event: a model's file, compressed with xz, where that is small enough.

Graphs repeat themselves: without weights, a file becomes a tenth as large and less.
"""

import lzma

from benanza_schemas.events import MAX_INLINE_MODEL_BYTES

PRESET = 2
"""Of xz. The default, 6, makes the zoo's exports a tenth smaller, in seven times as long."""

_PIECE_BYTES = 1 << 16


class InlineContent:
    """Compresses a file while it is read. Stops as soon as an event has no room for it."""

    def __init__(self) -> None:
        self._compressor = lzma.LZMACompressor(preset=PRESET)
        self._compressed = bytearray()

    def add(self, chunk: bytes) -> None:
        """The next bytes of the file."""
        for start in range(0, len(chunk), _PIECE_BYTES):
            if not self._fits():
                return
            piece = chunk[start : start + _PIECE_BYTES]
            self._compressed += self._compressor.compress(piece)

    def finish(self) -> bytes | None:
        """The .xz file of all that was added, or none if it is too large. To be called once."""
        if self._fits():
            self._compressed += self._compressor.flush()
        return bytes(self._compressed) if self._fits() else None

    def _fits(self) -> bool:
        return len(self._compressed) <= MAX_INLINE_MODEL_BYTES


def inline_content(content: bytes) -> bytes | None:
    """A whole file as an event holds it, or none if it is too large."""
    inline = InlineContent()
    inline.add(content)
    return inline.finish()
