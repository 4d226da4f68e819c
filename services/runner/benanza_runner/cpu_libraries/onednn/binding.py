"""The library itself, through ctypes: no maintained Python package binds its primitives.

Names and numbers are those of `dnnl.h` and `dnnl_types.h` of oneDNN 3. The package brings a build
whose threads are those of GNU's OpenMP; another build of version 3 that the system has works, too.
"""

import ctypes
import ctypes.util
import os
from collections.abc import Callable
from enum import IntEnum
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from typing import Any

PACKAGE = "onednn-cpu-gomp"
FILE = "libdnnl.so.3"
MAJOR = 3

CPU = 1
"""`dnnl_cpu`, the kind of the engine."""

SPINS = "GOMP_SPINCOUNT"
MOST_SPINS = "10000"
"""Some tens of microseconds. By default it is thirty times as much, which a thread spins away from
another one that it waits for, where others have the processors as well.
"""

PAUSE_HARD = 2
"""`omp_pause_hard`."""

STATUSES = (
    "success",
    "out of memory",
    "invalid arguments",
    "unimplemented",
    "last implementation reached",
    "runtime error",
    "not required",
)
"""In the order of `dnnl_status_t`."""


class DataType(IntEnum):
    """`dnnl_data_type_t`."""

    F16 = 1
    BF16 = 2
    F32 = 3


class OneDnnError(RuntimeError):
    """oneDNN refused a call; the text says which one and why."""


class _Version(ctypes.Structure):
    """The beginning of `dnnl_version_t`."""

    _fields_ = (("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int))


class OneDnnApi:
    """oneDNN with an engine for the CPU and a stream in which calls run one after another.

    Calls are to be made by the thread that set the number of `threads` last.
    """

    def __init__(self, shared: ctypes.CDLL) -> None:
        self._shared = shared
        self.engine = ctypes.c_void_p()
        self.call("dnnl_engine_create", ctypes.byref(self.engine), CPU, ctypes.c_size_t(0))
        self.stream = ctypes.c_void_p()
        in_order = 1
        self.call("dnnl_stream_create", ctypes.byref(self.stream), self.engine, in_order)
        self.execute: Any = shared.dnnl_primitive_execute
        self.execute.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        shared.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        shared.dnnl_memory_desc_get_size.restype = ctypes.c_size_t

    def use_threads(self, threads: int) -> None:
        """Has calls that the current thread makes run on so many threads.

        A build whose threads aren't OpenMP's uses as many as there are processors for it.
        """
        # The function is OpenMP's, which the library depends on, so that it is found through it.
        set_threads: Callable[[int], None] | None = getattr(
            self._shared, "omp_set_num_threads", None
        )
        if set_threads is not None:
            set_threads(threads)

    def end_threads(self) -> None:
        """Ends the threads of OpenMP, which would spin for milliseconds after a call; the next call
        starts others. Versions before 5 of OpenMP can't.
        """
        pause: Callable[[int], int] | None = getattr(self._shared, "omp_pause_resource_all", None)
        if pause is not None:
            pause(PAUSE_HARD)

    def version(self) -> str:
        """The version, such as `3.2.0`."""
        return version_of(self._shared)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function. Raises `OneDnnError` unless it says `dnnl_success`."""
        function = getattr(self._shared, name, None)
        if function is None:
            raise OneDnnError(f"version {self.version()} has no {name}")
        status = function(*arguments)
        if status:
            reason = STATUSES[status] if status < len(STATUSES) else f"status {status}"
            raise OneDnnError(f"{name}: {reason}")

    def wait(self) -> None:
        """Waits until all calls so far are done."""
        self.call("dnnl_stream_wait", self.stream)

    def value(self, name: str, *arguments: Any) -> Any:
        """What a function returns that has no status."""
        return getattr(self._shared, name)(*arguments)


def version_of(shared: ctypes.CDLL) -> str:
    """The version of a loaded library."""
    shared.dnnl_version.restype = ctypes.POINTER(_Version)
    found = shared.dnnl_version().contents
    return f"{found.major}.{found.minor}.{found.patch}"


@cache
def why_unavailable() -> str:
    """Why oneDNN can't be used here, and how to mend it; empty if it can."""
    loaded = _loaded()
    if isinstance(loaded, str):
        return loaded
    loaded.dnnl_engine_get_count.restype = ctypes.c_size_t
    if not loaded.dnnl_engine_get_count(CPU):
        return (
            f"oneDNN {version_of(loaded)} finds no CPU: it is a build for SYCL without its runtime"
        )
    return ""


@cache
def binding() -> OneDnnApi:
    """The library of this process. Raises `OneDnnError` where there is none that works."""
    reason = why_unavailable()
    loaded = _loaded()
    if reason or isinstance(loaded, str):
        raise OneDnnError(reason)
    return OneDnnApi(loaded)


@cache
def _loaded() -> ctypes.CDLL | str:
    """The shared library, or why there is none."""
    path = _of_package() or ctypes.util.find_library("dnnl")
    if not path:
        return "oneDNN isn't installed; say: pip install 'benanza[cpu]'"
    try:
        shared = _opened(path)
    except OSError as error:
        return f"oneDNN can't be loaded: {error}"
    version = version_of(shared)
    if not version.startswith(f"{MAJOR}."):
        return f"oneDNN {version} has another interface than version {MAJOR}"
    return shared


def _opened(path: str) -> ctypes.CDLL:
    """The library, with a limit to how long its threads spin, unless the environment has one.

    It is read when OpenMP is loaded, and isn't handed on to other processes.
    """
    given = os.environ.get(SPINS)
    os.environ.setdefault(SPINS, MOST_SPINS)
    try:
        return ctypes.CDLL(path)
    finally:
        if given is None:
            del os.environ[SPINS]


def _of_package() -> str:
    """Where the package has put the library; empty if it isn't installed."""
    try:
        installed = files(PACKAGE) or ()
    except PackageNotFoundError:
        return ""
    return next((str(file.locate()) for file in installed if file.name == FILE), "")
