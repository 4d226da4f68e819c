"""Of what a small file blows up to, only so much is made as is read."""

import lzma
import tracemalloc
from io import BytesIO

from benanza_ingest.reading.decompress import decompressed


def test_a_bomb_is_made_piece_by_piece() -> None:
    size = 1 << 27
    compressor = lzma.LZMACompressor(preset=0)
    bomb = b"".join(compressor.compress(bytes(1 << 20)) for _ in range(size >> 20))
    bomb += compressor.flush()
    assert len(bomb) < 100_000
    read = decompressed(BytesIO(bomb).read, "a bomb")
    tracemalloc.start()
    try:
        found = 0
        while chunk := read(1 << 16):
            assert len(chunk) <= 1 << 16
            found += len(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == size
    assert read(1) == b""
    assert peak < 1 << 21
