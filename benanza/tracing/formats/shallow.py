"""A file of JSON that isn't nested deep: a parser keeps where it is, level by level."""

import re
from typing import Protocol

import numpy as np

MOST_LEVELS = 100
"""Profilers write fewer than ten."""

_QUOTE = b'"'
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_NO_MARKS = bytes(set(range(256)) - set(b'[]{}"'))
_LEVELS = np.zeros(256, np.int64)
_LEVELS[list(b"[{")] = 1
_LEVELS[list(b"]}")] = -1


class NestedTooDeepError(Exception):
    """JSON with more levels than `MOST_LEVELS`."""


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class ShallowFile:
    """What is read from a file, as long as it has few levels."""

    def __init__(self, file: _Readable) -> None:
        self._file = file
        self._level = 0
        self._in_text = False
        self._begun = b""

    def read(self, size: int = -1) -> bytes:
        """The next bytes. Raises `NestedTooDeepError` where they go deeper than that."""
        data = self._file.read(size)
        levels = self._level + np.cumsum(_LEVELS[np.frombuffer(self._marks(data), np.uint8)])
        if levels.size:
            if levels.max() > MOST_LEVELS:
                raise NestedTooDeepError(f"it is nested in more than {MOST_LEVELS} levels")
            self._level = int(levels[-1])
        return data

    def _marks(self, data: bytes) -> bytes:
        """The brackets that stand outside of texts."""
        text = self._begun + data
        if b"\\" in text:
            text = _ESCAPED.sub(b"", text)
        self._begun = text[-1:] if text.endswith(b"\\") else b""
        parts = text.translate(None, _NO_MARKS).split(_QUOTE)
        outside = b"".join(parts[self._in_text :: 2])
        self._in_text ^= len(parts) % 2 == 0
        return outside
