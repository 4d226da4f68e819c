"""A submitted kernel for a GPU as a function without arguments, over arrays that stay where they
are.
"""

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cupy

from benanza_runner.submitted.working.returned import check_form, listed, returns
from benanza_runner.submitted.working.sources import (
    LIBRARIES,
    KernelError,
    functions_of_module,
    library_of,
)


class DeviceKernel(NamedTuple):
    """`call` starts the computation of all outputs on the current stream, `prepare` tells it that
    there are other weights. `results` are the memory of what the last call returned, each as the
    address where it begins and that where it ends.
    """

    call: Callable[[], object]
    prepare: Callable[[], object]
    results: Callable[[], Sequence[tuple[int, int]]]


def load_for_device(
    path: Path, stream: Any, inputs: Sequence[Any], weights: Sequence[Any], outputs: Sequence[Any]
) -> DeviceKernel:
    """The kernel in a file: a shared library, whose functions take the stream as their last
    argument, or else a module of Python, which finds the stream to be the current one.

    Raises `KernelError` if it has no `run` that takes these arrays, and whatever loading it raises.
    """
    if path.suffix in LIBRARIES:
        run, told = library_of(path)
        call = _with_pointers(run, (*inputs, *outputs), stream)
        return DeviceKernel(call, _with_pointers(told, weights, stream) if told else _nothing, list)
    module_run, module_told = functions_of_module(path)
    prepare = (lambda: module_told(*weights)) if module_told else _nothing
    if returns(module_run, len(inputs), len(outputs)):
        return _returning(module_run, inputs, prepare, outputs)
    return DeviceKernel(lambda: module_run(*inputs, *outputs), prepare, list)


def _nothing() -> None: ...


def _with_pointers(function: Any, arrays: Sequence[Any], stream: Any) -> Callable[[], object]:
    pointers = [ctypes.c_void_p(array.data.ptr) for array in arrays]
    return lambda: function(*pointers, ctypes.c_void_p(stream.ptr))


def _returning(
    run: Callable[..., object],
    inputs: Sequence[Any],
    prepare: Callable[[], object],
    outputs: Sequence[Any],
) -> DeviceKernel:
    last: list[Any] = []

    def call() -> None:
        last[:] = [_on_device(result) for result in listed(run(*inputs), len(outputs))]
        for result, output in zip(last, outputs, strict=True):
            check_form(result, output)
            cupy.copyto(output, result)

    return DeviceKernel(call, prepare, lambda: [_extent(array) for array in last])


def _on_device(result: Any) -> Any:
    """The same memory as an array of CuPy."""
    if isinstance(result, cupy.ndarray):
        return result
    if not hasattr(result, "__cuda_array_interface__"):
        raise KernelError(f"it returns a {type(result).__name__}, which is no array on the GPU")
    return cupy.asarray(result)


def _extent(array: Any) -> tuple[int, int]:
    begin, end = cupy.byte_bounds(array)
    return int(begin), int(end)
