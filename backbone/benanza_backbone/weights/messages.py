"""What a tenant and the store of weights say to each other, over a Unix socket.

The socket keeps the bounds of messages (SOCK_SEQPACKET), so that none is ever half there. A tenant
asks once for each connection, and holds what it is granted until the connection closes, as it does
when the process ends, however it ends.
"""

import os
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec

MAX_MESSAGE_BYTES = 1 << 16
"""What is longer is refused unread. A path has at most 4,096 bytes."""

MAX_FILES = 250
"""With one message; Linux passes up to 253."""

_FD = struct.Struct("i")

T = TypeVar("T")


class AskedWeights(msgspec.Struct, frozen=True, tag="ask", forbid_unknown_fields=True):
    """The weights of a model: of the file that comes with the message, if the address is empty.
    `sha256` is what the model's file must have, in hexadecimal, or empty. `gpu` is the UUID of the
    GPU on which they are wanted as well, in hexadecimal, or empty.
    """

    address: str = ""
    sha256: str = ""
    gpu: str = ""


class OpenedFiles(msgspec.Struct, frozen=True, tag="files", forbid_unknown_fields=True):
    """The files that were wanted come with this message, in their order."""


class WantedFiles(msgspec.Struct, frozen=True, tag="wanted"):
    """The model has weights in these files beside it, which the store wants to be passed: whoever
    could open a file may have what is in it.
    """

    locations: tuple[str, ...]


class GrantedLease(msgspec.Struct, frozen=True, tag="granted"):
    """The packed weights come with this message, and their copy on the GPU if that was asked for.
    `sha256` is theirs; they were found in the `tier`, or loaded from it.
    """

    sha256: str
    tier: str


class RefusedLease(msgspec.Struct, frozen=True, tag="refused"):
    """There is no lease, for this reason."""

    reason: str


Request = AskedWeights | OpenedFiles
Answer = WantedFiles | GrantedLease | RefusedLease

REQUESTS = msgspec.msgpack.Decoder(Request)
ANSWERS = msgspec.msgpack.Decoder(Answer)


class MessageError(Exception):
    """What came is no message that may come now; the text says why."""


def user_of(connection: socket.socket) -> int:
    """The id of the user who opened the other end of this connection, as the kernel says."""
    credentials = struct.Struct("3i")
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
    _, user, _ = credentials.unpack(packed)
    return int(user)


def send(connection: socket.socket, message: Request | Answer, files: Sequence[int] = ()) -> None:
    """Sends a message, with open files. Raises `OSError`."""
    socket.send_fds(connection, [msgspec.msgpack.encode(message)], files)


def receive(connection: socket.socket, messages: msgspec.msgpack.Decoder[T]) -> tuple[T, list[int]]:
    """A message, with the files that came with it, which the caller has to close.

    Raises `EOFError` at the end of the connection, `MessageError`, with all files closed, and
    `OSError`.
    """
    content, ancillary, flags, _ = connection.recvmsg(
        MAX_MESSAGE_BYTES, socket.CMSG_SPACE(MAX_FILES * _FD.size), socket.MSG_CMSG_CLOEXEC
    )
    files = [
        number
        for level, kind, packed in ancillary
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        for (number,) in _FD.iter_unpack(packed[: len(packed) // _FD.size * _FD.size])
    ]
    try:
        if not content:
            raise EOFError
        if flags & socket.MSG_TRUNC:
            raise MessageError(f"a message of more than {MAX_MESSAGE_BYTES:,} bytes")
        if flags & socket.MSG_CTRUNC:
            raise MessageError(f"more than {MAX_FILES} files in a message")
        return messages.decode(content), files
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        close(files)
        raise MessageError(
            f"no message that is known here ({error}); the store and its tenants have to be of one "
            "version"
        ) from None
    except (EOFError, MessageError):
        close(files)
        raise


def close(files: Sequence[int]) -> None:
    """Closes files."""
    for file in files:
        with suppress(OSError):
            os.close(file)
