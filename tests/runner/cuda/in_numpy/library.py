"""A library that computes calls with NumPy, as `calls` says what they mean."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Convolution, Pooling, Product
from benanza_runner.cuda.candidate import Candidate, Run, no_scratch, refused
from benanza_runner.cuda.device_tensor import DeviceTensor, to_bits
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant
from tests.runner.cuda.in_numpy.calls import compute

LIBRARY = "numpy"


class NumpyLibrary:
    """Knows products, and convolutions and poolings in both layouts."""

    library = LIBRARY

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        call = workspace.call
        if isinstance(call, Product):
            result = workspace.result(call.output)
            yield Candidate(LIBRARY, "einsum", "", no_scratch, self._run(workspace, result), result)
        elif isinstance(call, Convolution | Pooling):
            yield refused(LIBRARY, "fft", "", "it has no transforms")
            for layout, order in workspace.layouts(len(call.input)):
                result = workspace.result(call.output, order)
                run = self._run(workspace, result, order)
                yield Candidate(LIBRARY, "windows", layout, no_scratch, run, result)

    def _run(
        self, workspace: Workspace, result: DeviceTensor, order: tuple[int, ...] | None = None
    ) -> Run:
        def run() -> None:
            operands = {
                name: self._read(workspace, name, order) for name in _operands(workspace.call)
            }
            (found,) = compute(workspace.call, operands, self._folder)
            written = found.reshape(result.shape).astype(np.float32).transpose(result.order)
            result.array[...] = to_bits(np.ascontiguousarray(written), result.precision)

        return run

    def _read(self, workspace: Workspace, name: str, order: tuple[int, ...] | None) -> Array:
        own = workspace.operand(name)
        mapped = order is not None and len(own.shape) == len(order)
        floats: Array = workspace.operand(name, order if mapped else None).floats()
        return floats.astype(np.float64)


def _operands(call: Call) -> list[str]:
    """The names of what a call reads."""
    if isinstance(call, Pooling):
        return ["input"]
    names = ["a", "b"] if isinstance(call, Product) else ["input", "filter"]
    return names + [name for name in ("bias", "residual") if getattr(call, name)]
