"""What the modules of this package make of a call: plans, each a primitive in one layout."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from benanza_runner.arrays import Array
from benanza_runner.cpu_libraries.onednn.attributes import Attributes
from benanza_runner.cpu_libraries.onednn.binding import OneDnnApi
from benanza_runner.cpu_libraries.onednn.memory import (
    KINDS,
    Memory,
    Shape,
    TensorDescriptor,
    as_array,
    channels_last,
    empty,
    in_blocks,
    of_array,
    strided,
)
from benanza_runner.cpu_libraries.onednn.primitive import (
    REFERENCE,
    SIMPLE,
    Argument,
    Primitive,
    Way,
    reordered,
)
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.onnx_schemas import numpy_dtype
from benanza_runner.onnxruntime.blocked import LAYOUT as BLOCKED
from benanza_runner.onnxruntime.channels_last import LAYOUT as CHANNELS_LAST
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

INFERENCE = 96
"""`dnnl_forward_inference`."""

FIRST = "NCHW"
WHICHEVER = ""
"""The layouts of a plan are these, `BLOCKED` and `CHANNELS_LAST`; without feature maps it is the
first.
"""


class Ready(NamedTuple):
    """A primitive with its weights packed, and its result as an array in ONNX's order."""

    primitive: Primitive
    result: Callable[[], Array]


class Plan(NamedTuple):
    """A way of running a call, whose feature maps have this layout.

    `make` makes it ready. `reads` and `writes` are the shapes in ONNX's order of the feature maps
    that have another layout than ONNX's.
    """

    name: str
    layout: str
    make: Callable[[], Ready]
    reads: tuple[Shape, ...] = ()
    writes: tuple[Shape, ...] = ()


class Operands:
    """The operands of a call as tensors of oneDNN, in blocks of so many channels where wanted.

    `arrays` are float32. They are kept in the type of the precision: NumPy's is `dtype`, oneDNN's
    `kind`. `fixed` are the names of those that the model fixes.
    """

    def __init__(
        self,
        onednn: OneDnnApi,
        arrays: Mapping[str, Array],
        fixed: frozenset[str],
        precision: Precision,
        block: int,
    ) -> None:
        self.onednn = onednn
        self.arrays = arrays
        self.fixed = fixed
        self.block = block
        self.dtype = numpy_dtype(PRECISIONS[precision].element_type)
        self.kind = KINDS[self.dtype.name]

    def plain(self, name: str, shape: Shape | None = None) -> Memory:
        """An operand as ONNX has it, seen in this shape."""
        array = self.arrays[name]
        return self.laid_out(array if shape is None else array.reshape(shape), FIRST)

    def exact(self, name: str, shape: Shape) -> Memory:
        """The same as float32 at any precision, as oneDNN wants what it adds or scales with."""
        return of_array(self.onednn, self.arrays[name].reshape(shape))

    def map(self, name: str, shape: Shape, layout: str) -> Memory:
        """An operand that is a feature map, in this layout."""
        return self.laid_out(self.arrays[name].reshape(shape), layout)

    def laid_out(self, array: Array, layout: str) -> Memory:
        """An array in this layout."""
        memory = of_array(self.onednn, array.astype(self.dtype, copy=False))
        return reordered(self.onednn, memory, self.described(array.shape, layout))

    def takes(self, shape: Shape, layout: str) -> bool:
        """Whether a tensor of this shape is a feature map that may have this layout: it needs as
        many channels as a block to be in blocks.
        """
        return layout != BLOCKED or 0 < self.block <= shape[1]

    def pads(self, shape: Shape) -> bool:
        """Whether the last block of a feature map has more channels than there are."""
        return len(shape) == 4 and self.block > 0 and shape[1] % self.block > 0

    def described(self, shape: Shape, layout: str = FIRST) -> TensorDescriptor:
        """How a feature map of this shape lies in this layout, or any tensor as ONNX has it."""
        if layout == BLOCKED:
            return in_blocks(self.onednn, shape, self.kind, self.block)
        if layout == CHANNELS_LAST:
            return channels_last(self.onednn, shape, self.kind)
        return strided(self.onednn, shape, self.kind)


def plans(
    operands: Operands,
    kind: str,
    found: Iterable[Way],
    attributes: Attributes,
    memories: Mapping[int, Memory],
    result: tuple[Shape, str],
    reads: tuple[Shape, ...] = (),
) -> Iterator[Plan]:
    """A plan for each way that is worth trying, with these arguments.

    Arguments are copied to where a way wants them, when it is made. `result` is the shape of what
    is written, and its layout. Raises `UnsupportedError` and `OneDnnError`.
    """
    shape, layout = result
    converted = layout != FIRST
    for way in worth_trying(found):
        make = partial(_ready, operands, way, {**memories, **attributes.memories}, shape, layout)
        writes = (shape,) if converted else ()
        yield Plan(f"{kind} {way.name}", layout, make, reads if converted else (), writes)


def _ready(
    operands: Operands, way: Way, memories: Mapping[int, Memory], shape: Shape, layout: str
) -> Ready:
    onednn = operands.onednn
    given = {
        argument: reordered(onednn, memory, way.wants(argument))
        if argument == Argument.WEIGHTS
        else memory
        for argument, memory in memories.items()
    }
    result = empty(onednn, operands.described(shape, layout))
    primitive = Primitive(onednn, way, {**given, Argument.RESULT: result})
    as_onnx = operands.described(shape)
    return Ready(
        primitive, lambda: as_array(reordered(onednn, result, as_onnx), shape, operands.dtype)
    )


def worth_trying(found: Iterable[Way]) -> Iterator[Way]:
    """The first way of each family, since others of it are for processors with fewer instructions.

    Reference code is left out, which takes a hundred times as long, and so is simple code, unless
    there is nothing before it. Raises `UnsupportedError` if only reference code is there.
    """
    families: set[str] = set()
    for way in found:
        family, _, _ = way.name.rpartition(":")
        if REFERENCE in way.name or (families and SIMPLE in way.name):
            break
        if family not in families:
            families.add(family)
            yield way
    if not families:
        raise UnsupportedError("oneDNN has only reference code for it in this layout")
