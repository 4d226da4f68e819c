"""What the modules of this package make of a call: plans, each a primitive in one layout."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from benanza_runner.arrays import Array
from benanza_runner.cpu_libraries.onednn.library import DataType, Library
from benanza_runner.cpu_libraries.onednn.memory import (
    Descriptor,
    Memory,
    Shape,
    anyhow,
    in_blocks,
    of_array,
    strided,
)
from benanza_runner.cpu_libraries.onednn.primitive import (
    REFERENCE,
    Primitive,
    Way,
    reordered,
)

MOST_WAYS = 3
"""Implementations of a primitive that are tried, in oneDNN's own order."""

FIRST = "NCHW"
BLOCKED = "NCHWc"
EITHER = ""


class Plan(NamedTuple):
    """A way of running a call, whose feature maps are in this layout.

    `make` makes the primitive and the memory of its result, with all weights packed. `reads` and
    `writes` are the shapes of the feature maps that are in blocks. `preferred` says that it is the
    implementation which oneDNN would take.
    """

    name: str
    layout: str
    make: Callable[[], tuple[Primitive, Memory]]
    reads: tuple[Shape, ...] = ()
    writes: tuple[Shape, ...] = ()
    preferred: bool = False


class Operands:
    """The operands of a call as tensors of oneDNN, in blocks of so many channels where wanted.

    `fixed` are the names of those that the model fixes.
    """

    def __init__(
        self, onednn: Library, arrays: Mapping[str, Array], fixed: frozenset[str], block: int
    ) -> None:
        self.onednn = onednn
        self.arrays = arrays
        self.fixed = fixed
        self.block = block
        self.read: list[Shape] = []

    def plain(self, name: str, shape: Shape | None = None) -> Memory:
        """An operand as ONNX has it, seen in this shape."""
        array = self.arrays[name]
        return of_array(self.onednn, array if shape is None else array.reshape(shape))

    def map(self, name: str, shape: Shape, layout: str) -> Memory:
        """An operand that is a feature map, in this layout.

        With fewer channels than a block has, it stays as ONNX has it: so is a model's input.
        """
        memory = self.plain(name, shape)
        if layout != BLOCKED or shape[1] < self.block:
            return memory
        return reordered(self.onednn, memory, self.described(shape, layout))

    def described(self, shape: Shape, layout: str) -> Descriptor:
        """How a feature map of this shape lies in this layout."""
        if layout == BLOCKED:
            return in_blocks(self.onednn, shape, DataType.F32, self.block)
        return strided(self.onednn, shape, DataType.F32)

    def packable(self, shape: Shape) -> Descriptor:
        """A weight that lies as the primitive wants it."""
        return anyhow(self.onednn, shape, DataType.F32)


def tried(found: Iterable[Way]) -> Iterable[Way]:
    """The ways that are worth trying: the preferred one, and others that are no reference code."""
    names = set()
    for way in islice(found, MOST_WAYS):
        if way.name in names or (way.number and way.name.startswith(REFERENCE)):
            return
        names.add(way.name)
        yield way
        if way.name.startswith(REFERENCE):
            return
