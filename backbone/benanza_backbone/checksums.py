"""Checksums of files."""

from pathlib import Path

from crc32c import crc32c

READ_BYTES = 4_000_000


def file_crc32c(path: Path) -> int:
    """CRC-32C of a file's bytes. Raises `OSError` if it can't be read."""
    checksum = 0
    with path.open("rb", buffering=0) as file:
        while part := file.read(READ_BYTES):
            checksum = crc32c(part, checksum)
    return checksum
