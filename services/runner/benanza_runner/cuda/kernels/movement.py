"""Copies of views through CuPy: by its `copyto`, and by tiles.

The kernel of a region copies any view as well. `copyto` is faster where elements stay together, and
tiles are where another axis becomes the fastest one.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import cupy

from benanza_runner.cuda.calls import Shuffle, View
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, launch
from benanza_runner.cuda.kernels.source.tiled_copy import NAME, THREADS, tiled_copy
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

MOST_AXES = 8


class MovementKernels:
    """Candidates for views and shuffles."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One or two for each layout."""
        call = workspace.call
        if isinstance(call, View):
            yield from _views(workspace, call)
        elif isinstance(call, Shuffle):
            yield from _shuffles(workspace, call)


def _views(workspace: Workspace, call: View) -> Iterator[Candidate]:
    x, result = workspace.operand("input"), workspace.result(call.output, None, call.element)
    cut = tuple(map(slice, call.starts, call.stops, call.steps))
    seen = x.array.reshape(call.input)[cut].transpose(call.order)
    view = cupy.broadcast_to(seen, call.output)
    yield from _copies(x, view, result, workspace.natural_layout(call.input))


def _shuffles(workspace: Workspace, call: Shuffle) -> Iterator[Candidate]:
    for layout, order in workspace.layouts(len(call.input)):
        x = workspace.operand("input", order)
        result = workspace.result(call.input, order, call.element)
        place = order.index(1)
        before, (channels, *after) = x.array.shape[:place], x.array.shape[place:]
        table = x.array.reshape((*before, call.rows, channels // call.rows, *after))
        yield from _copies(x, table.swapaxes(place, place + 1), result, layout)


def _copies(x: DeviceTensor, view: Any, result: DeviceTensor, layout: str) -> Iterator[Candidate]:
    """Copies of a view of a tensor into a result of as many elements."""
    target = result.array.reshape(view.shape)

    def copy() -> None:
        cupy.copyto(target, view)

    yield Candidate(LIBRARY, "copyto", layout, no_scratch, copy, result)
    size = x.element_bytes
    axes = merged(view.shape, tuple(step // size for step in view.strides))
    first = (int(view.data.ptr) - x.pointer) // size
    if target.size >= MOST_ELEMENTS or len(axes) > MOST_AXES:
        return
    if by_tiles := tiled_copy(first, axes, size):
        arguments = (x.array, result.array, *by_tiles.numbers)
        run = launch(_tiled(by_tiles.source), by_tiles.blocks, THREADS, arguments)
        yield Candidate(LIBRARY, "tiled copy kernel", layout, no_scratch, run, result)


def merged(shape: tuple[int, ...], steps: tuple[int, ...]) -> list[tuple[int, int]]:
    """Length and stride of each axis. Axes that continue into the next one are joined with it."""
    axes: list[tuple[int, int]] = []
    for length, step in zip(shape, steps, strict=True):
        if length == 1:
            continue
        if axes and axes[-1][1] == length * step:
            axes[-1] = (axes[-1][0] * length, step)
        else:
            axes.append((length, step))
    return axes or [(1, 1)]


@cache
def _tiled(source: str) -> Any:
    return cupy.RawKernel(source, NAME)
