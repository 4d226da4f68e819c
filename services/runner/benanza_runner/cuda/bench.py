"""What candidates of one layer share: its operands on the device, results and scratch memory."""

from collections.abc import Iterator
from typing import Any

import cupy

from benanza_runner.cuda.arrays import Placed, empty, placed
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.layouts import RANKS, image_layouts, is_image
from benanza_runner.cuda.lowering.lower import Lowered
from benanza_schemas.layer import Precision

MOST_IMAGE_AXES = 5

MAX_SCRATCH_BYTES = 1 << 32
"""Variants that want more are refused: no model would spare it."""


class Bench:
    """Memory for the candidates of one call at one precision, on the current stream.

    A tensor is placed once in each layout. Results and scratch memory are shared: candidates
    run one after another.
    """

    def __init__(self, lowered: Lowered, precision: Precision) -> None:
        self.call = lowered.call
        self.precision: Precision = precision
        self._lowered = lowered
        self._placed: dict[tuple[str, tuple[int, ...]], Placed] = {}
        self._results: dict[tuple[Shape, tuple[int, ...], str, int], Placed] = {}
        self._scratch: list[cupy.ndarray] = []

    def layouts(self, rank: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The layouts that candidates may choose for images of this many axes, with their order."""
        return image_layouts(rank)

    def natural_layout(self, shape: Shape) -> str:
        """ONNX's own layout, for variants that want it; empty if that makes no difference."""
        names = [name for name, _ in image_layouts(len(shape))] if is_image(shape) else []
        return names[0] if names and len(shape) <= MOST_IMAGE_AXES else ""

    def operand(self, name: str, order: tuple[int, ...] | None = None) -> Placed:
        """An operand with its axes in this order; ONNX's by default."""
        array = self._lowered.operands[name]
        order = order or tuple(range(array.ndim))
        key = name, order
        if key not in self._placed:
            self._placed[key] = placed(array, order, self.precision)
        return self._placed[key]

    def expanded(self, name: str, shape: Shape, order: tuple[int, ...]) -> Placed:
        """An operand as if it had this shape, which differs from its own in axes of one."""
        key = name, (-1, *order)
        if key not in self._placed:
            array = self._lowered.operands[name].reshape(shape)
            self._placed[key] = placed(array, order, self.precision)
        return self._placed[key]

    def result(
        self,
        shape: Shape,
        order: tuple[int, ...] | None = None,
        element: str = "",
        number: int = 0,
    ) -> Placed:
        """Memory for a result of this shape, of floats or of the elements that are named.

        Results of one candidate that have another `number` lie elsewhere.
        """
        order = order or tuple(range(len(shape)))
        key = shape, order, element, number
        if key not in self._results:
            self._results[key] = empty(shape, order, self.precision, element)
        return self._results[key]

    def images(self) -> tuple[list[Shape], list[Shape]]:
        """The shapes of what the call reads of other calls, and of what its candidates write."""
        lowered = self._lowered
        read = [a.shape for name, a in lowered.operands.items() if name not in lowered.weights]
        written = dict.fromkeys((number, shape) for shape, _, _, number in self._results)
        return read, [shape for _, shape in written]

    def read(self, layout: str) -> list[Placed]:
        """What the call reads of other calls, as it lies in memory for variants of a layout."""
        names = [name for name in self._lowered.operands if name not in self._lowered.weights]
        found = [p for (name, _), p in self._placed.items() if name in names]
        wanted = dict(pair for rank in RANKS for pair in image_layouts(rank)).get(layout)
        return [
            p for p in found if wanted is None or len(p.order) != len(wanted) or p.order == wanted
        ]

    def scratch(self, size: int) -> int:
        """The address of at least so many bytes. It stays valid as long as the bench."""
        if not self._scratch or self._scratch[-1].size < size:
            self._scratch.append(cupy.empty(max(size, 1 << 20), cupy.uint8))
        return int(self._scratch[-1].data.ptr)

    def last_scratch(self, size: int) -> Any | None:
        """So many bytes of the scratch memory that was asked for last; None for no bytes."""
        return self._scratch[-1][:size] if size else None
