"""What a library is asked to run, in plain numbers. Layers that ask for the same are one call.

Shapes are those of ONNX: batch, channels, then space. Which layout tensors have in memory is
the choice of whoever runs the call.
"""

import msgspec

Shape = tuple[int, ...]


class Convolution(msgspec.Struct, frozen=True):
    """`activation(convolution + bias + residual)`; operands `image`, `filter`, and `bias` and
    `residual` where they are. Groups follow from the channels of the filter.
    """

    image: Shape
    filter: Shape
    output: Shape
    strides: Shape
    dilations: Shape
    pads_before: Shape
    pads_after: Shape
    bias: bool = False
    residual: bool = False
    activation: str = ""

    @property
    def groups(self) -> int:
        return self.image[1] // self.filter[1]


class Product(msgspec.Struct, frozen=True):
    """`activation(alpha · a · b + bias + residual)` for `batch` pairs of matrices.

    Operands: `a` is m×k, or k×m where `a_transposed`; `b` is k×n, or n×k where
    `b_transposed`; `bias` has n elements; `residual` is m×n. Where `b` is a weight
    (`b_constant`), whoever runs the call may keep it either way. `output` is the shape that
    the layer gives the result.
    """

    output: Shape
    batch: int
    m: int
    n: int
    k: int
    a_transposed: bool = False
    b_transposed: bool = False
    b_constant: bool = False
    alpha: float = 1.0
    bias: bool = False
    residual: bool = False
    activation: str = ""


class Pooling(msgspec.Struct, frozen=True):
    """The largest or the mean element of windows; operand `image`.

    `mode` is `max`, `average` (over what lies in the image) or `average_padded` (over the
    whole window).
    """

    mode: str
    image: Shape
    output: Shape
    window: Shape
    strides: Shape
    dilations: Shape
    pads_before: Shape


class Softmax(msgspec.Struct, frozen=True):
    """Softmax, or its logarithm, over the middle one of three axes; operand `image`."""

    output: Shape
    outer: int
    size: int
    inner: int
    logarithm: bool = False


class Normalisation(msgspec.Struct, frozen=True):
    """Local response normalisation over `size` neighbouring channels; operand `image`."""

    image: Shape
    size: int
    alpha: float
    beta: float
    bias: float


class Operand(msgspec.Struct, frozen=True):
    """What an element-wise call reads: the element `(i // inner) % size` at output index `i`.

    `axes` are the axes of the output that it has; they are next to each other.
    """

    shape: Shape
    axes: tuple[int, ...]


class Elementwise(msgspec.Struct, frozen=True):
    """Statements of C over `float` variables, computed for each element of the output.

    Operands `in0`, `in1`, … are read into variables of these names; `result` names the
    variable that is written.
    """

    output: Shape
    operands: tuple[Operand, ...]
    statements: tuple[str, ...]
    result: str


class Concatenation(msgspec.Struct, frozen=True):
    """Operands `in0`, … next to each other along an axis."""

    shapes: tuple[Shape, ...]
    axis: int
    output: Shape


class View(msgspec.Struct, frozen=True):
    """A copy of the operand `image` seen with other steps: slices, then axes in another order,
    then repeated to the shape of the output.

    `starts`, `stops` and `steps` are as in Python's slices, one for each axis; a stop of
    `None` is the end on either side.
    """

    image: Shape
    starts: tuple[int | None, ...]
    stops: tuple[int | None, ...]
    steps: tuple[int, ...]
    order: tuple[int, ...]
    output: Shape


Call = (
    Convolution | Product | Pooling | Softmax | Normalisation | Elementwise | Concatenation | View
)
