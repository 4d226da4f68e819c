"""A submitted kernel for a CPU as a function without arguments, over arrays that stay where they
are.
"""

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.submitted.working.returned import check_form, listed, returns
from benanza_runner.submitted.working.sources import (
    LIBRARIES,
    KernelError,
    functions_of_module,
    library_of,
)

_copy = np.copyto


class LoadedKernel(NamedTuple):
    """`call` computes all outputs, `prepare` is told that there are other weights. `results` are
    what the last call returned, where it returns arrays.
    """

    call: Callable[[], object]
    prepare: Callable[[], object]
    results: Callable[[], Sequence[Array]]


def load(
    path: Path, inputs: Sequence[Array], weights: Sequence[Array], outputs: Sequence[Array]
) -> LoadedKernel:
    """The kernel in a file: a shared library, or else a module of Python.

    Raises `KernelError` if it has no `run` that takes these arrays, and whatever loading it raises.
    """
    if path.suffix in LIBRARIES:
        return _of_library(path, inputs, weights, outputs)
    return _of_module(path, inputs, weights, outputs)


def empty_call(
    inputs: Sequence[Array], outputs: Sequence[Array], *, library: bool
) -> Callable[[], object]:
    """As a kernel of the kind is called, a function that does nothing."""
    if library:
        nothing = ctypes.CDLL(None).labs  # of the C library: it reads no memory
        nothing.restype = None
        return _with_pointers(nothing, (*inputs, *outputs))
    arguments = (*map(_read_only, inputs), *outputs)
    return lambda: _nothing(*arguments)


def _nothing(*_: Array) -> None: ...


def _of_library(
    path: Path, inputs: Sequence[Array], weights: Sequence[Array], outputs: Sequence[Array]
) -> LoadedKernel:
    run, told = library_of(path)
    prepare = _with_pointers(told, weights) if told else _nothing
    return LoadedKernel(_with_pointers(run, (*inputs, *outputs)), prepare, list)


def _with_pointers(function: Any, arrays: Sequence[Array]) -> Callable[[], object]:
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    return lambda: function(*pointers)


def _of_module(
    path: Path, inputs: Sequence[Array], weights: Sequence[Array], outputs: Sequence[Array]
) -> LoadedKernel:
    run, told = functions_of_module(path)
    reading = [*map(_read_only, inputs)]
    fixed = [*map(_read_only, weights)]
    prepare: Callable[[], object] = (lambda: told(*fixed)) if told else _nothing
    if returns(run, len(inputs), len(outputs)):
        return _returning(run, reading, prepare, outputs)
    arguments = (*reading, *outputs)
    return LoadedKernel(lambda: run(*arguments), prepare, list)


def _returning(
    run: Callable[..., object],
    reading: Sequence[Array],
    prepare: Callable[[], object],
    outputs: Sequence[Array],
) -> LoadedKernel:
    last: list[Array] = []

    def call() -> None:
        last[:] = listed(run(*reading), len(outputs))
        for result, output in zip(last, outputs, strict=True):
            if type(result) is not np.ndarray:
                raise KernelError(f"it returns a {type(result).__name__}, which is no array")
            check_form(result, output)
            _copy(output, result)

    return LoadedKernel(call, prepare, lambda: list(last))


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view
