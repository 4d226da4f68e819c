"""The functions of a submitted kernel, in the file that it is."""

import ctypes
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIBRARIES = (".so", ".dylib")


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class KernelError(Exception):
    """A kernel that isn't one; the text says why."""


def library_of(path: Path) -> tuple[Any, Any | None]:
    """The functions `run` and `prepare` of a shared library. The second one is None if there is
    none. Raises `KernelError` if there is no `run`.
    """
    library = ctypes.CDLL(str(path))
    try:
        library.run.restype = None
    except AttributeError:
        raise KernelError("it has no function `run`") from None
    if not hasattr(library, "prepare"):
        return library.run, None
    library.prepare.restype = None
    return library.run, library.prepare


def functions_of_module(
    path: Path,
) -> tuple[Callable[..., object], Callable[..., object] | None]:
    """The functions `run` and `prepare` of a module of Python, as of a library."""
    spec = importlib.util.spec_from_file_location("kernel", path)
    if spec is None or spec.loader is None:
        raise KernelError("it is neither a module of Python (.py) nor a shared library (.so)")
    module = importlib.util.module_from_spec(spec)
    # Triton looks for the module of a function that it compiles.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    run = getattr(module, "run", None)
    if not callable(run):
        raise KernelError("it has no function `run`")
    told = getattr(module, "prepare", None)
    return run, told if callable(told) else None


def parameters_of(run: Callable[..., object]) -> int:
    """How many arguments it takes that have no default. Raises `KernelError` if nobody can say."""
    try:
        parameters = inspect.signature(run).parameters.values()
    except (TypeError, ValueError):
        raise KernelError("nobody can say how many arrays its `run` takes") from None
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        raise KernelError("its `run` takes any number of arrays; let it name each of them")
    return sum(each.default is each.empty and each.kind in _BY_PLACE for each in parameters)
