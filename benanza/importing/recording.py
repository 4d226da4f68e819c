"""Measurements and profiles in a file, for people who don't have the device.

The file is MessagePack, compressed with xz: how many events there are, and each of them as a
binary, as its topic holds it. It may come from anybody, so it has limits, and a system has to be
called by the digest of its description: else its times would pass for those of another system.
"""

import lzma
from collections.abc import Iterator, Sequence
from hashlib import file_digest
from pathlib import Path

import msgpack

from benanza_backbone.errors import BenanzaError
from benanza_backbone.xz import Read, decompressed
from benanza_schemas.codec import MAX_EVENT_BYTES, DecodeError, decode, encode
from benanza_schemas.events import (
    LayerMeasured,
    ModelProfiled,
    ModelWitnessed,
    System,
    SystemMeasured,
    identified,
)

Recorded = SystemMeasured | LayerMeasured | ModelProfiled | ModelWitnessed

MAX_FILE_BYTES = 500_000_000
MAX_UNPACKED_BYTES = 5_000_000_000
MAX_EVENTS = 1_000_000
"""Forty times what the nine models of the zoo take on a GPU, or more."""


class TooLargeError(ValueError):
    """The file has more of something than is taken in."""


def write_recording(path: Path, events: Sequence[Recorded]) -> None:
    """Writes the events to a file, in this order. A file of that name stays until all is there."""
    part = path.with_name(f"{path.name}.part")
    with lzma.open(part, "wb") as file:
        file.write(msgpack.packb(len(events)))
        for event in events:
            file.write(msgpack.packb(encode(event)))
    part.replace(path)


def read_recording(path: Path) -> Iterator[tuple[bytes, Recorded]]:
    """The events in a file, one after the other, each with its bytes.

    Raises `BenanzaError`, at the place where it finds out, if the file can't be read, is
    damaged, is larger than the limits, holds something else, or calls a system by a false id.
    """
    number = 0
    systems: dict[str, System] = {}
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise TooLargeError(f"it has more than {MAX_FILE_BYTES:,} bytes")
        with path.open("rb") as file:
            # The frame of a binary takes five bytes. All else would take many times its size.
            unpacker = msgpack.Unpacker(
                _Limited(decompressed(file.read)),
                max_buffer_size=MAX_EVENT_BYTES + 5,
                max_bin_len=MAX_EVENT_BYTES,
                **dict.fromkeys(("max_array_len", "max_map_len", "max_str_len", "max_ext_len"), 0),
            )
            count = unpacker.unpack()
            for encoded in unpacker:
                if not isinstance(encoded, bytes):
                    raise DecodeError("events in it are binaries")
                event = decode(encoded)
                if not isinstance(event, Recorded):
                    raise DecodeError(f"a {type(event).__name__} is no measurement")
                if not isinstance(event, ModelWitnessed):
                    _check_system(event.system, systems)
                if number == MAX_EVENTS:
                    raise TooLargeError(f"it holds more than {MAX_EVENTS:,} events")
                yield encoded, event
                number += 1
            if number != count:
                raise EOFError
    except OSError as error:
        raise _unreadable(path, error) from error
    except TooLargeError as error:
        raise BenanzaError(f"{path} is too large: {error}; split it") from error
    except (lzma.LZMAError, EOFError, ValueError, TypeError, msgpack.UnpackException) as error:
        raise BenanzaError(
            f"{path} is no file of recorded measurements, or is damaged behind its event "
            f"{number:,}: {str(error) or 'it ends too soon'}; get it again"
        ) from error


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal. Raises `BenanzaError` if it can't be read."""
    try:
        with path.open("rb") as content:
            return file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> BenanzaError:
    return BenanzaError(
        f"can't read {path} ({error.strerror or error}); name a file of recorded measurements"
    )


class _Limited:
    """What `read` reads, up to `MAX_UNPACKED_BYTES`. Raises `TooLargeError` behind that."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._read_bytes = 0

    def read(self, size: int) -> bytes:
        """At most `size` bytes."""
        read = self._read(size)
        self._read_bytes += len(read)
        if self._read_bytes > MAX_UNPACKED_BYTES:
            raise TooLargeError(f"it holds more than {MAX_UNPACKED_BYTES:,} bytes, unpacked")
        return read


def _check_system(system: System, known: dict[str, System]) -> None:
    """Raises `DecodeError` if its id isn't that of its description. `known` are those checked."""
    if known.get(system.system_id) == system:
        return
    if identified(system) != system:
        raise DecodeError(f"the id {system.system_id} isn't that of the system it stands for")
    known[system.system_id] = system
