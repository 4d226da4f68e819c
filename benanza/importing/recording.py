"""Measurements and profiles in a file, for people who don't have the device.

The file is MessagePack, compressed with xz: how many events there are, and each of them as a
binary, as its topic holds it.
"""

import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgpack

from benanza_backbone.errors import BenanzaError
from benanza_schemas.codec import MAX_EVENT_BYTES, DecodeError, decode, encode
from benanza_schemas.events import LayerMeasured, ModelProfiled, SystemMeasured

Recorded = SystemMeasured | LayerMeasured | ModelProfiled


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
    damaged, or holds something else.
    """
    number = 0
    try:
        with lzma.open(path) as file:
            # The frame of a binary takes five bytes.
            unpacker = msgpack.Unpacker(
                file, max_buffer_size=MAX_EVENT_BYTES + 5, max_bin_len=MAX_EVENT_BYTES
            )
            count = unpacker.unpack()
            for encoded in unpacker:
                if not isinstance(encoded, bytes):
                    raise DecodeError("events in it are binaries")
                event = decode(encoded)
                if not isinstance(event, Recorded):
                    raise DecodeError(f"a {type(event).__name__} is no measurement")
                yield encoded, event
                number += 1
            if number != count:
                raise EOFError
    except OSError as error:
        raise BenanzaError(
            f"can't read {path} ({error.strerror or error}); name a file of recorded measurements"
        ) from error
    except (lzma.LZMAError, EOFError, ValueError, TypeError, msgpack.UnpackException) as error:
        raise BenanzaError(
            f"{path} is no file of recorded measurements, or is damaged behind its event "
            f"{number:,}: {str(error) or 'it ends too soon'}; get it again"
        ) from error
