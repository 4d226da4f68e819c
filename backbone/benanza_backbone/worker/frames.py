"""Messages of bytes over a stream, each with its length before it.

A message of over the size that the reader allows is refused before any of it is read. What comes
with the bytes, such as file descriptors, isn't received: the kernel drops it.
"""

import os
import select
from collections.abc import Callable
from functools import partial
from struct import Struct
from time import monotonic
from typing import TypeVar

_LENGTH = Struct("!I")

MOST_BYTES = 2**32 - 1
"""The longest message that can be announced."""

_AT_ONCE_BYTES = 1 << 20

T = TypeVar("T")


class FrameError(Exception):
    """What came is no message that may come now; the text says why."""


def send(to: int, message: bytes | bytearray, deadline: float | None = None) -> None:
    """Writes a message of at most `MOST_BYTES` to this file descriptor.

    Raises `TimeoutError` at the deadline, a time of `monotonic`, which needs a descriptor that
    doesn't block; and `ConnectionError` if the other side has closed.
    """
    for part in (_LENGTH.pack(len(message)), message):
        left = memoryview(part)
        while left:
            write = partial(os.write, to, left[:_AT_ONCE_BYTES])
            left = left[_patiently(write, to, select.POLLOUT, deadline) :]


def receive(source: int, most_bytes: int, deadline: float | None = None) -> bytearray:
    """Reads a message from this file descriptor.

    Raises `FrameError` if it is longer than `most_bytes`, `TimeoutError` at the deadline as `send`
    does, `EOFError` if the other side closed before the end, and `ConnectionError` likewise.
    """
    (size,) = _LENGTH.unpack(_read(source, _LENGTH.size, deadline))
    if size > most_bytes:
        raise FrameError(f"a message of {size:,} bytes, more than {most_bytes:,}")
    return _read(source, size, deadline)


def is_quiet(source: int) -> bool:
    """Whether there is nothing to read, not even the end."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    return not poll.poll(0)


def _read(source: int, size: int, deadline: float | None) -> bytearray:
    content = bytearray()  # It grows with what comes: what is only announced takes no memory.
    while len(content) < size:
        read = partial(os.read, source, min(size - len(content), _AT_ONCE_BYTES))
        chunk = _patiently(read, source, select.POLLIN, deadline)
        if not chunk:
            raise EOFError
        content += chunk
    return content


def _patiently(call: Callable[[], T], on: int, event: int, deadline: float | None) -> T:
    """The result of the call, once it doesn't block. Raises `TimeoutError` at the deadline, also
    where the other side never lets it block.
    """
    while True:
        left = None if deadline is None else deadline - monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        try:
            return call()
        except BlockingIOError:
            poll = select.poll()
            poll.register(on, event)
            poll.poll(None if left is None else left * 1000)
