"""Sees what a kernel of Python does that no kernel has to do.

What it could win by that is little: results are compared, and times are taken, in another process.
What it does to files and to the network is up to the kernel of the system, too.
"""

import _thread
import builtins
import collections
import contextlib
import ctypes
import dataclasses
import enum
import gc
import os
import select
import struct
import sys
import threading
import time
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np

_Watched = ModuleType | type

_WATCHED: tuple[_Watched, ...] = (
    *(builtins, contextlib, ctypes, gc, os, select, struct, sys, threading, time, np),
    contextlib._GeneratorContextManager,
)

_LOOKS = "looks into the interpreter, where no kernel has anything to look for"
_CHANGES = "changes the code of a function, or the class of an object"
_SETS = "changes the environment"
_OF_MODULES = frozenset({_LOOKS, _CHANGES, _SETS})
"""What modules may do that are imported."""

_FORBIDDEN = MappingProxyType(
    {
        "socket.": "uses the network",
        "subprocess.": "starts a program",
        "os.fork": "starts a process",
        "os.posix_spawn": "starts a program",
        "os.exec": "starts a program",
        "os.system": "starts a program",
        "os.putenv": _SETS,
        "os.unsetenv": _SETS,
        "os.kill": "sends a signal",
        "os.": "uses the file system",
        "open": "opens a file; what is imported belongs to the top of the kernel",
        "gc.": _LOOKS,
        "sys._getframe": _LOOKS,
        "sys._current_": _LOOKS,
        "sys.set": _LOOKS,
        "sys.addaudithook": _LOOKS,
        "object.__getattr__": _LOOKS,
        "object.__setattr__": _CHANGES,
        "compile": _LOOKS,
        "code.__new__": _LOOKS,
    }
)
"""Events of Python's audit hooks, by how they begin, and what they are; the first one counts. With
`object.__getattr__` it announces that somebody asks for the frame of a traceback, and the like.
Code that is made at run time could say that it is of any file.
"""


_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_IMPORTING = frozenset({"open", "os.listdir", "os.scandir"})
"""Events of any import. What a kernel may read then is up to the kernel of the system."""

_IMPORTS = "<frozen importlib"

_DEFINING = MappingProxyType(
    {module.__file__: vars(module) for module in (collections, dataclasses, enum, typing)}
)
"""Modules of Python that look for the module in which a class is defined, by file."""

_BY_PYTHON = "__warningregistry__"
"""The one name that Python adds to a module itself."""

_Forbids = Callable[[str, tuple[Any, ...]], str]
"""What is forbidden of an event with its arguments, in words; empty if nothing is."""


class _Names(NamedTuple):
    """What a module or a class has now, and had before; if not the `whole`, then its functions."""

    of_what: str
    now: Mapping[str, Any]
    before: Mapping[str, Any]
    whole: bool

    @classmethod
    def of(cls, each: _Watched, *, whole: bool) -> "_Names":
        now = vars(each)
        before = {name: value for name, value in now.items() if whole or callable(value)}
        return cls(each.__name__, now, before, whole)


class KernelWatch:
    """From when it is made on, what the kernel does is looked at."""

    def __init__(self, own: Iterable[_Watched], used: Iterable[_Watched] = ()) -> None:
        """It sees whether any function is replaced of what all modules use, and of what is `used`;
        and whether anything is replaced, or added, of the worker's `own`.
        """
        self._reasons: list[str] = []
        self._forbids: _Forbids = _forbidden
        self._watching = self._stays = False
        self._threads = _thread._count()  # those that Python started
        self._libraries = tuple({*filter(None, sys.path), sys.prefix, sys.base_prefix})
        common = [_Names.of(each, whole=False) for each in (*_WATCHED, *used)]
        self._names = [*common, *(_Names.of(each, whole=True) for each in own)]
        self._codes: dict[FunctionType, CodeType] = {
            value: value.__code__
            for names in self._names
            for value in names.before.values()
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
        what modules do; no thread may be left. From then on it is as in `running` for good: a
        function that the worker calls may be the kernel's.
        """
        self._stays = True
        with self._watched(self._forbidden_of_modules):
            yield
        self._look_for_threads("loaded")

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """The block in which the kernel is loaded and compiled. What it may do to files and with
        programs is up to the kernel of the system; no thread may be left.
        """
        with self._watched(_forbidden_of_compilers):
            yield
        self._look_for_threads("loaded")

    @contextmanager
    def capturing(self) -> Iterator[None]:
        """The block in which its calls are captured: as `running`, and no thread may be left, which
        could compute results after the last of them.
        """
        with self._watched(_forbidden):
            yield
        self._look_for_threads("captured")

    @contextmanager
    def _watched(self, forbids: _Forbids) -> Iterator[None]:
        self._forbids, self._watching = forbids, True
        try:
            yield
        finally:
            self._forbids, self._watching = _forbidden, self._stays

    def _look_for_threads(self, what: str) -> None:
        if _thread._count() > self._threads:
            self._reasons.append(f"it starts a thread while it is {what}")

    def look(self) -> None:
        """Looks for what is replaced now, and may be as it was when `reason` is asked. So that this
        goes unnoticed by nothing, it calls no function that a kernel could have replaced.
        """
        for names in self._names:
            for name, value in names.before.items():
                if names.now.get(name) is not value:
                    self._reasons.append(f"it replaced {names.of_what}.{name}")
            if not names.whole:
                continue
            for name in names.now.keys() - names.before.keys():
                if name != _BY_PYTHON:
                    self._reasons.append(f"it added {names.of_what}.{name}")

    def reason(self) -> str:
        """What it did wrong so far, empty if nothing was seen."""
        self.look()
        watching, self._watching = self._watching, False  # To read code is such an event.
        for function, code in self._codes.items():
            if function.__code__ is not code:
                self._reasons.append(f"it replaced {function.__module__}.{function.__qualname__}")
        self._watching = watching
        return self._reasons[0] if self._reasons else ""

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
        if what not in _OF_MODULES:
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
