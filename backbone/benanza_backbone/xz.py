"""Decompresses .xz files while they are read: of what a small file blows up to, only so much is
made as the reader takes.
"""

import lzma
from collections.abc import Callable

Read = Callable[[int], bytes]
"""Returns up to so many bytes, and none at the end."""

MOST_MEMORY_BYTES = 1 << 27
"""The largest memory that an .xz file may ask for: it asks before it has any data. `xz -9`, the
most that the tool does by itself, needs 65 MiB.
"""

_CHUNK_BYTES = 1 << 16


def decompressed(read: Read) -> Read:
    """What reads the content of an .xz file, of one stream, that `read` reads.

    It raises `lzma.LZMAError` if that is damaged, or would take over `MOST_MEMORY_BYTES`, and
    `EOFError` if it is cut off.
    """
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY_BYTES)

    def next_bytes(most: int) -> bytes:
        while not decompressor.eof:
            compressed = read(_CHUNK_BYTES) if decompressor.needs_input else b""
            if decompressor.needs_input and not compressed:
                raise EOFError("it is cut off")
            if content := decompressor.decompress(compressed, max_length=most):
                return content
        return b""

    return next_bytes
