"""As much of CuPy as a worker of kernels needs, over NumPy. "Kernels" are functions of Python, and
what is started while a stream is captured is kept, and runs when the graph is launched.
"""

import types
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy import uint32  # noqa: F401  # kernels use it

_recording: list[Callable[[], object]] | None = None


class ndarray(np.ndarray):  # noqa: N801  # as CuPy calls it
    """An array of the device."""

    @property
    def data(self) -> Any:
        return types.SimpleNamespace(ptr=self.ctypes.data)

    def set(self, value: Any) -> None:
        assert _recording is None, "a copy from the host can't be captured"
        np.copyto(np.asarray(self), value)

    def get(self, out: Any = None) -> Any:
        if _recording is not None:
            raise cuda.runtime.CUDARuntimeError("operation not permitted when stream is capturing")
        if out is None:
            return np.array(self)
        np.copyto(out, np.asarray(self))
        return out


def _made(array: Any) -> Any:
    return array.view(ndarray)


def zeros(shape: Any, dtype: Any = np.float32) -> Any:
    return _made(np.zeros(shape, dtype))


empty = zeros


def asarray(array: Any) -> Any:
    return _made(np.asarray(array))


def started(work: Callable[[], object]) -> None:
    """Starts work on the current stream."""
    if _recording is None:
        work()
    else:
        _recording.append(work)


def copyto(to: Any, array: Any) -> None:
    started(lambda: np.copyto(np.asarray(to), np.asarray(array)))


def byte_bounds(array: Any) -> tuple[int, int]:
    return np.lib.array_utils.byte_bounds(array)


class RawKernel:
    """A function of this name in a source, which is Python; but the worker's own, which is C."""

    def __init__(self, source: str, name: str) -> None:
        found: dict[str, Any] = {"np": np}
        if name == "change":
            self._function: Callable[..., object] = _change
        else:
            exec(source, found)
            self._function = found[name]

    def compile(self) -> None: ...

    def __call__(self, grid: Any, block: Any, arguments: tuple[Any, ...]) -> None:
        started(lambda: self._function(*map(np.asarray, arguments)))


def _change(
    to: Any, pool: Any, starts: Any, patterns: Any, turn: Any, finished: Any, size: Any
) -> None:
    turn[0] += 1
    flat, now = np.arange(int(size)), int(turn[0])
    block = flat >> 16
    to[...] = pool[starts[block, now % 251] + (flat & 0xFFFF)] ^ patterns[block, now % 256]


class Graph:
    """What was started while a stream was captured."""

    known: ClassVar[dict[int, "Graph"]] = {}

    def __init__(self, work: list[Callable[[], object]]) -> None:
        self.work = work
        self.graph = id(self)
        self.known[self.graph] = self


class _Stream:
    ptr = 0

    def __init__(self, non_blocking: bool = False) -> None: ...

    def use(self) -> None: ...

    def begin_capture(self) -> None:
        global _recording
        _recording = []

    def end_capture(self) -> Graph:
        global _recording
        assert _recording is not None
        work, _recording = _recording, None
        return Graph(work)

    def launch_host_func(self, function: Any, argument: Any) -> None:
        started(lambda: function(argument))
        if _recording:
            _recording[-1].kind = "HOST"  # type: ignore[attr-defined]


class _Event:
    def __init__(self, disable_timing: bool = False) -> None: ...

    def record(self, stream: Any) -> None: ...

    def synchronize(self) -> None: ...


def _module(name: str, **names: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(names)
    return module


cuda: Any = _module(
    "cupy.cuda",
    Stream=_Stream,
    Event=_Event,
    runtime=_module(
        "cupy.cuda.runtime",
        deviceSynchronize=lambda: None,
        CUDARuntimeError=type("CUDARuntimeError", (Exception,), {}),
    ),
)
