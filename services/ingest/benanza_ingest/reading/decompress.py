"""Content of models that is compressed."""

import lzma

from benanza_backbone import xz
from benanza_ingest.errors import ModelError
from benanza_ingest.reading.download import Read


def decompressed(read: Read, where: str) -> Read:
    """What reads the content of an .xz file that `read` reads, as `xz.decompressed` does.

    It raises `ModelError` if that is damaged, cut off, or would take too much memory.
    """
    next_bytes = xz.decompressed(read)

    def next_or_error(most: int) -> bytes:
        try:
            return next_bytes(most)
        except (lzma.LZMAError, EOFError) as error:
            raise ModelError(
                f"{where} can't be decompressed ({error}); compress the file with xz, and publish "
                "it again"
            ) from error

    return next_or_error
