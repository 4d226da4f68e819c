"""Primitives: what oneDNN runs, in the ways in which it can run it."""

import ctypes
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any
from weakref import finalize

from benanza_runner.cpu_libraries.onednn.attributes import Attributes
from benanza_runner.cpu_libraries.onednn.binding import OneDnnApi, OneDnnError
from benanza_runner.cpu_libraries.onednn.memory import Memory, TensorDescriptor, empty

IMPLEMENTATION = 8
"""`dnnl_query_impl_info_str`."""

OF_ARGUMENT = 255
"""`dnnl_query_exec_arg_md`."""

LAST = "last implementation reached"
REFERENCE = "ref:"
SIMPLE = "simple"
"""In the names of implementations that aren't made for their shapes, or for vectors."""


class Argument(IntEnum):
    """`DNNL_ARG_…`: what a primitive reads and writes."""

    SOURCE = 1
    SECOND = 2
    RESULT = 17
    WEIGHTS = 33
    BIAS = 41
    SCALE = 51
    SHIFT = 52
    SCRATCHPAD = 80
    SOURCES = 1024
    """The first of several sources."""


class Way:
    """One implementation of a primitive: `dnnl_primitive_desc_t`."""

    def __init__(self, onednn: OneDnnApi, handle: ctypes.c_void_p) -> None:
        self._onednn = onednn
        self._as_parameter_ = handle
        finalize(self, onednn.value, "dnnl_primitive_desc_destroy", handle)

    @property
    def name(self) -> str:
        """oneDNN's name of the implementation, such as `jit:avx512_core`."""
        text = ctypes.c_char_p()
        query = "dnnl_primitive_desc_query"
        self._onednn.call(query, self, IMPLEMENTATION, 0, ctypes.byref(text))
        return (text.value or b"").decode()

    def wants(self, argument: int) -> TensorDescriptor:
        """How an argument is to lie, valid as long as this object."""
        query = "dnnl_primitive_desc_query_md"
        found = self._onednn.value(query, self, OF_ARGUMENT, argument)
        if not found:
            raise OneDnnError(f"{self.name} has no argument {argument}")
        return TensorDescriptor(self._onednn, ctypes.c_void_p(found), owned=False)


def ways(onednn: OneDnnApi, kind: str, attributes: Attributes, *arguments: Any) -> Iterator[Way]:
    """The implementations of a primitive of this kind, such as `eltwise_forward`, in the order in
    which oneDNN prefers them.

    The arguments are those of `dnnl_…_primitive_desc_create` between the engine and the attributes.
    Raises `OneDnnError` if there is none.
    """
    number = 0
    while True:
        handle = ctypes.c_void_p()
        name = f"dnnl_{kind}_primitive_desc_create"
        onednn.call(name, ctypes.byref(handle), onednn.engine, *arguments, attributes)
        way = Way(onednn, handle)
        # Each gets a handle of its own, which is moved on to it.
        for _ in range(number):
            try:
                onednn.call("dnnl_primitive_desc_next_impl", way)
            except OneDnnError as error:
                if str(error).endswith(LAST):
                    return
                raise
        yield way
        number += 1


class Primitive:
    """A way with its arguments, ready to run. Scratch memory is its own."""

    def __init__(self, onednn: OneDnnApi, way: Way, memories: Mapping[int, Memory]) -> None:
        self._onednn = onednn
        self._handle = ctypes.c_void_p()
        onednn.call("dnnl_primitive_create", ctypes.byref(self._handle), way)
        finalize(self, onednn.value, "dnnl_primitive_destroy", self._handle)
        scratch = way.wants(Argument.SCRATCHPAD)
        self._memories = dict(memories)
        if scratch.bytes:
            self._memories[Argument.SCRATCHPAD] = empty(onednn, scratch)
        count = len(self._memories)
        self._arguments = (_Argument * count)(
            *(_Argument(argument, memory.handle) for argument, memory in self._memories.items())
        )
        self._call = (
            self._handle,
            onednn.stream,
            count,
            ctypes.cast(self._arguments, ctypes.c_void_p),
        )

    def run(self, times: int = 1) -> None:
        """Runs it so many times, one after the other. Raises `OneDnnError`."""
        execute, call = self._onednn.execute, self._call
        failed = 0
        for _ in range(times):
            failed |= execute(*call)
        if failed:
            raise OneDnnError("dnnl_primitive_execute failed")


class _Argument(ctypes.Structure):
    """`dnnl_exec_arg_t`."""

    _fields_ = (("argument", ctypes.c_int), ("memory", ctypes.c_void_p))


def reordered(onednn: OneDnnApi, memory: Memory, wanted: TensorDescriptor) -> Memory:
    """The same tensor as it is wanted, which is a copy unless it lies so already."""
    if memory.descriptor.equals(wanted):
        return memory
    result = empty(onednn, wanted)
    way = copying(onednn, memory.descriptor, wanted)
    Primitive(onednn, way, {Argument.SOURCE: memory, Argument.RESULT: result}).run()
    onednn.wait()
    return result


def copying(onednn: OneDnnApi, source: TensorDescriptor, result: TensorDescriptor) -> Way:
    """How a tensor is copied to where it lies otherwise. Raises `OneDnnError`."""
    handle = ctypes.c_void_p()
    onednn.call(
        "dnnl_reorder_primitive_desc_create",
        ctypes.byref(handle),
        source,
        onednn.engine,
        result,
        onednn.engine,
        Attributes(onednn),
    )
    return Way(onednn, handle)
