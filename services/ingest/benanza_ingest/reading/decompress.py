"""Decompresses content while it is read: of what a small file blows up to, only so much is made as
the reader takes.
"""

import lzma

from benanza_ingest.errors import ModelError
from benanza_ingest.reading.download import Read

MOST_MEMORY_BYTES = 1 << 27
"""The largest memory that an .xz file may ask for: it asks before it has any data. `xz -9`, the
most that the tool does by itself, needs 65 MiB.
"""

_CHUNK_BYTES = 1 << 16


def decompressed(read: Read, where: str) -> Read:
    """What reads the content of an .xz file, of one stream, that `read` reads.

    It raises `ModelError` if that is damaged, or would take over `MOST_MEMORY_BYTES`.
    """
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY_BYTES)

    def next_bytes(most: int) -> bytes:
        while not decompressor.eof:
            compressed = read(_CHUNK_BYTES) if decompressor.needs_input else b""
            if decompressor.needs_input and not compressed:
                raise _damaged(where, "it is cut off")
            try:
                found = decompressor.decompress(compressed, max_length=most)
            except lzma.LZMAError as error:
                raise _damaged(where, str(error)) from error
            if found:
                return found
        return b""

    return next_bytes


def _damaged(where: str, reason: str) -> ModelError:
    return ModelError(
        f"{where} can't be decompressed ({reason}); compress the file with xz, and publish it again"
    )
