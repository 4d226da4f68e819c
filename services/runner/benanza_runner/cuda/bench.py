"""What candidates of one layer share: its operands on the device, results and scratch memory."""

import cupy

from benanza_runner.cuda.arrays import Placed, empty, placed
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.lowering import Lowered
from benanza_schemas.layer import Precision

MAX_SCRATCH_BYTES = 1 << 32
"""Variants that want more are refused: no model would spare it."""


class Bench:
    """Memory for the candidates of one call at one precision, on the current stream.

    A tensor is placed once in each layout. Results and scratch memory are shared: candidates
    run one after another.
    """

    def __init__(self, lowered: Lowered, precision: Precision, stream: int) -> None:
        self.call = lowered.call
        self.precision: Precision = precision
        self.stream = stream
        self._lowered = lowered
        self._placed: dict[tuple[str, tuple[int, ...]], Placed] = {}
        self._results: dict[tuple[Shape, tuple[int, ...], str, int], Placed] = {}
        self._scratch: list[cupy.ndarray] = []

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

    def scratch(self, size: int) -> int:
        """The address of at least so many bytes. It stays valid as long as the bench."""
        if not self._scratch or self._scratch[-1].size < size:
            self._scratch.append(cupy.empty(max(size, 1 << 20), cupy.uint8))
        return int(self._scratch[-1].data.ptr)
