"""Sees what a kernel of Python does that no kernel has to do.

What it could win by that is little: results are compared, and times are taken, in another process.
What it does to files and to the network is up to the kernel of the system, too.
"""

import builtins
import ctypes
import gc
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_WATCHED: tuple[ModuleType, ...] = (builtins, ctypes, gc, os, time, np)

_LOOKS = "looks into the interpreter, where no kernel has anything to look for"
_FORBIDDEN = {
    "socket.": "uses the network",
    "subprocess.": "starts a program",
    "os.fork": "starts a process",
    "os.posix_spawn": "starts a program",
    "os.exec": "starts a program",
    "os.system": "starts a program",
    "os.": "uses the file system",
    "open": "opens a file; what is imported belongs to the top of the kernel",
    "gc.": _LOOKS,
    "sys._getframe": _LOOKS,
    "sys._current_": _LOOKS,
    "sys.set": _LOOKS,
    "object.__getattr__": _LOOKS,
}
"""Events of Python's audit hooks, by how they begin, and what they are; the first one counts. With
`object.__getattr__` it announces that somebody asks for the frame of a traceback, and the like.
"""


class KernelWatch:
    """From when it is made on, what the kernel does is looked at."""

    def __init__(self, *others: ModuleType | type) -> None:
        """Besides what all modules use, it sees whether anything of these is replaced."""
        self._reasons: list[str] = []
        self._running = False
        watched = (*_WATCHED, *others)
        self._known = {each: dict(vars(each)) for each in watched}
        self._codes: dict[FunctionType, CodeType] = {
            value: value.__code__
            for known in self._known.values()
            for value in known.values()
            if isinstance(value, FunctionType)
        }
        sys.addaudithook(self._heard)

    @contextmanager
    def running(self) -> Iterator[None]:
        """The block in which the kernel runs. It may not do then what is forbidden."""
        self._running = True
        try:
            yield
        finally:
            self._running = False

    def reason(self) -> str:
        """What it did wrong so far, empty if nothing was seen."""
        return next(iter([*self._reasons, *self._replaced()]), "")

    def _replaced(self) -> Iterator[str]:
        for of, before in self._known.items():
            now = vars(of)
            for name, value in before.items():
                if callable(value) and now.get(name) is not value:
                    yield f"it replaced {of.__name__}.{name}"
        for function, code in self._codes.items():
            if function.__code__ is not code:
                yield f"it replaced {function.__module__}.{function.__qualname__}"

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._running:
            return
        for begin, what in _FORBIDDEN.items():
            if event.startswith(begin):
                self._reasons.append(f"it {what} ({event})")
                raise PermissionError(self._reasons[-1])
