"""Sees what a kernel of Python does that no kernel has to do.

What it could win by that is little: results are compared, and times are taken, in another process.
What it does to files and to the network is up to the kernel of the system, too.
"""

import _thread
import builtins
import collections
import ctypes
import dataclasses
import enum
import gc
import os
import sys
import threading
import time
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

_WATCHED: tuple[ModuleType, ...] = (builtins, ctypes, gc, os, sys, threading, time, np)

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
    "sys.addaudithook": _LOOKS,
    "object.__getattr__": _LOOKS,
    "compile": _LOOKS,
    "code.__new__": _LOOKS,
}
"""Events of Python's audit hooks, by how they begin, and what they are; the first one counts. With
`object.__getattr__` it announces that somebody asks for the frame of a traceback, and the like.
Code that is made at run time could say that it is of any file.
"""


_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_IMPORTING = frozenset({"open", "os.listdir", "os.scandir"})
"""Events of any import. What a kernel may read then is up to the kernel of the system."""

_IMPORTS = "<frozen importlib"

_DEFINING = {module.__file__: vars(module) for module in (collections, dataclasses, enum, typing)}
"""Modules of Python that look for the module in which a class is defined, by file."""


_Forbids = Callable[[str, tuple[Any, ...]], str]
"""What is forbidden of an event with its arguments, in words; empty if nothing is."""


class KernelWatch:
    """From when it is made on, what the kernel does is looked at."""

    def __init__(self, *others: ModuleType | type) -> None:
        """Besides what all modules use, it sees whether anything of these is replaced."""
        self._reasons: list[str] = []
        self._forbids: _Forbids = _forbidden
        self._watching = False
        self._threads = _thread._count()  # those that Python started
        self._libraries = tuple({*filter(None, sys.path), sys.prefix, sys.base_prefix})
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
        with self._watched(_forbidden):
            yield

    @contextmanager
    def loading(self) -> Iterator[None]:
        """The block in which the kernel is loaded. It may import modules besides, and these may do
        what modules do; no thread may be left.
        """
        with self._watched(self._forbidden_of_modules):
            yield
        self._look_for_threads()

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """The block in which the kernel is loaded and compiled. What it may do to files and with
        programs is up to the kernel of the system; no thread may be left.
        """
        with self._watched(_forbidden_of_compilers):
            yield
        self._look_for_threads()

    @contextmanager
    def _watched(self, forbids: _Forbids) -> Iterator[None]:
        self._forbids, self._watching = forbids, True
        try:
            yield
        finally:
            self._watching = False

    def _look_for_threads(self) -> None:
        if _thread._count() > self._threads:
            self._reasons.append("it starts a thread while it is loaded")

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
        if not self._watching:
            return
        if what := self._forbids(event, arguments):
            self._reasons.append(f"it {what} ({event})")
            raise PermissionError(self._reasons[-1])

    def _forbidden_of_modules(self, event: str, arguments: tuple[Any, ...]) -> str:
        what = _forbidden(event, arguments)
        if event == "open":
            return "writes a file" if int(arguments[2]) & _WRITES else ""
        of_function = event == "object.__getattr__" and arguments[1].startswith("__")
        if event in _IMPORTING or of_function:
            return ""
        if what != _LOOKS:
            return what
        self._watching = False  # To look at frames is such an event.
        imports = self._is_import(sys._getframe(2))
        self._watching = True
        return "" if imports else what

    def _is_import(self, frame: FrameType | None) -> bool:
        """Whether a module that the kernel imports is at work, and not the kernel itself."""
        if frame is not None and frame.f_globals is _DEFINING.get(frame.f_code.co_filename):
            return True
        while frame is not None and not frame.f_code.co_filename.startswith(_IMPORTS):
            if not frame.f_code.co_filename.startswith(self._libraries):
                return False
            frame = frame.f_back
        return True


def _forbidden_of_compilers(event: str, arguments: tuple[Any, ...]) -> str:
    """The same of a kernel that has to be compiled by programs."""
    return _forbidden(event, arguments) if event.startswith("socket.") else ""


def _forbidden(event: str, arguments: tuple[Any, ...]) -> str:
    """What a kernel does that it may not do; empty if it may."""
    return next((what for begin, what in _FORBIDDEN.items() if event.startswith(begin)), "")
