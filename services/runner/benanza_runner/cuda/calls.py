"""What a library is asked to run, in plain numbers. Layers that ask for the same are one call.

Shapes are those of ONNX: batch, channels, then space. Which layout tensors have in memory is
the choice of whoever runs the call. Types of elements are named as in `elements`.
"""

import msgspec

Shape = tuple[int, ...]


class Convolution(msgspec.Struct, frozen=True):
    """`activation(convolution + bias + residual)`; operands `image`, `filter`, and `bias` and
    `residual` where they are. Groups follow from the channels of the filter.

    Images of one axis of space have another of one here. `numbers` belong to the activation.
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
    numbers: tuple[float, ...] = ()

    @property
    def groups(self) -> int:
        return self.image[1] // self.filter[1]


class TransposedConvolution(msgspec.Struct, frozen=True):
    """The reverse of a convolution that would make `image` of `output`, and what follows it.

    Fields and operands are those of `Convolution`; the filter has the channels of the image
    first, and then those of the output in a group.
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
    numbers: tuple[float, ...] = ()

    @property
    def groups(self) -> int:
        return self.output[1] // self.filter[1]


class Product(msgspec.Struct, frozen=True):
    """`activation(alpha · a · b + bias + beta · residual)` for `batch` pairs of matrices.

    Operands: `a` is m×k, or k×m where `a_transposed`; `b` is k×n, or n×k where
    `b_transposed`; `bias` has n elements; `residual` is m×n. Where `a_repeated`, there is one
    `a` for all pairs. All is done in so many `rounds`, each with its own `a`, `residual` and
    result, and with the same `b`. Where `b` is a weight (`b_constant`), whoever runs the call
    may keep it either way. `output` is the shape that the layer gives the result.
    """

    output: Shape
    batch: int
    m: int
    n: int
    k: int
    a_transposed: bool = False
    b_transposed: bool = False
    a_repeated: bool = False
    rounds: int = 1
    b_constant: bool = False
    alpha: float = 1.0
    beta: float = 1.0
    bias: bool = False
    residual: bool = False
    activation: str = ""
    numbers: tuple[float, ...] = ()


class Pooling(msgspec.Struct, frozen=True):
    """The largest or the mean element of windows; operand `image`.

    `mode` is `max`, `average` (over what lies in the image) or `average_padded` (over the
    whole window). Images of one axis of space have another of one here.
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
    """What an element-wise call reads, repeated along the axes of the output that it lacks.

    `axes` are those that it has, without axes of one. An operand of `elements.INDEX` lies
    nowhere: its elements are 0, 1, … along its one axis.
    """

    shape: Shape
    axes: tuple[int, ...]
    element: str = ""


class Elementwise(msgspec.Struct, frozen=True):
    """Statements of C computed for each element of the output.

    Operands `in0`, `in1`, … are read into variables of these names, whose types are those of
    `elements.variable`; `result` names the variable that is written.
    """

    output: Shape
    operands: tuple[Operand, ...]
    statements: tuple[str, ...]
    result: str
    element: str = ""


class Concatenation(msgspec.Struct, frozen=True):
    """Operands `in0`, … next to each other along an axis."""

    shapes: tuple[Shape, ...]
    axis: int
    output: Shape
    element: str = ""


class Partition(msgspec.Struct, frozen=True):
    """The operand `image` cut along an axis into parts of these lengths.

    `results` are the numbers of the parts that are results, in order.
    """

    image: Shape
    axis: int
    lengths: tuple[int, ...]
    results: tuple[int, ...]
    element: str = ""


class View(msgspec.Struct, frozen=True):
    """A copy of the operand `image` seen with other steps: slices, then axes in another order,
    then repeated to the shape of the output.

    `image` may be another shape of as many elements. `starts`, `stops` and `steps` are as in
    Python's slices, one for each axis; a stop of `None` is the end on either side.
    """

    image: Shape
    starts: tuple[int | None, ...]
    stops: tuple[int | None, ...]
    steps: tuple[int, ...]
    order: tuple[int, ...]
    output: Shape
    element: str = ""


class Gathering(msgspec.Struct, frozen=True):
    """Runs of `inner` elements of the operand `image`, chosen by tuples of the operand `indices`.

    The image is `batch` arrays of the axes `named`, of runs. Each batch has `rows` tuples of
    one number for each named axis, of its own unless they are `shared`. Negative numbers
    count from the end.
    """

    output: Shape
    batch: int
    named: Shape
    inner: int
    rows: int
    shared: bool
    index_element: str
    element: str = ""


class Scattering(msgspec.Struct, frozen=True):
    """A copy of the operand `image` in which tuples of `indices` say where `updates` go.

    The image is an array of the axes `named`, of runs of `inner` elements; there are `rows`
    tuples and runs of updates. No two tuples are the same.
    """

    output: Shape
    named: Shape
    inner: int
    rows: int
    index_element: str
    element: str = ""


class ElementGathering(msgspec.Struct, frozen=True):
    """Elements of `image` where the output is, but on one axis where `indices` says."""

    image: Shape
    axis: int
    output: Shape
    index_element: str
    element: str = ""


class ElementScattering(msgspec.Struct, frozen=True):
    """A copy of `image` with elements of `updates` where they are themselves, but on one axis
    where `indices` says, which has the shape of `updates`. No two go to the same place.
    """

    output: Shape
    axis: int
    updates: Shape
    index_element: str
    element: str = ""


class Padding(msgspec.Struct, frozen=True):
    """The operand `image` with `before` elements more at the start of each axis, or fewer.

    `mode` says what they are, as in ONNX: `constant`, which is `value`, `edge`, `reflect` or
    `wrap`.
    """

    image: Shape
    before: Shape
    output: Shape
    mode: str
    value: float
    element: str = ""


class Resizing(msgspec.Struct, frozen=True):
    """The operand `image` in another size; one of `scales` for each axis.

    `mode` is `nearest` or `linear`; `coordinates` and `rounding` are ONNX's
    `coordinate_transformation_mode` and `nearest_mode`.
    """

    image: Shape
    output: Shape
    scales: tuple[float, ...]
    mode: str
    coordinates: str
    rounding: str
    element: str = ""


class Accumulation(msgspec.Struct, frozen=True):
    """Sums of what comes before, over the middle one of three axes of the operand `image`."""

    output: Shape
    outer: int
    size: int
    inner: int
    exclusive: bool
    reverse: bool
    element: str = ""


class Ranking(msgspec.Struct, frozen=True):
    """The `count` largest or smallest elements on the middle one of three axes of `image`.

    Results are `outputs`, each `values` or `indices` (int64) or both, of shape `output`. Of
    equal elements the first one wins, or the `last`.
    """

    output: Shape
    outer: int
    size: int
    inner: int
    count: int
    largest: bool
    last: bool
    outputs: tuple[str, ...]
    element: str = ""


class Reduction(msgspec.Struct, frozen=True):
    """The operand `image` reduced over axes.

    `kind` is ONNX's name without `Reduce`: `Mean`, `SumSquare`.
    """

    kind: str
    image: Shape
    axes: tuple[int, ...]
    output: Shape
    element: str = ""


class RowNormalisation(msgspec.Struct, frozen=True):
    """`(image - mean) · factor · scale + bias`; mean and factor are those of a row.

    The image has axes of these `lengths`, of which a row has those that are `reduced`, and
    `scale` and `bias`, where they are, those that are `affine`. `kind` says what a row is
    brought to: `variance` to a mean of 0 and a variance of 1, `rms` to a mean square of 1,
    `l1` and `l2` to a norm of 1. With `by_channel` the lengths are those of the batch, of
    groups, of channels in a group, and of space.
    """

    kind: str
    output: Shape
    lengths: Shape
    reduced: tuple[bool, ...]
    affine: tuple[bool, ...]
    epsilon: float
    scale: bool = False
    bias: bool = False
    by_channel: bool = False


Call = (
    Convolution
    | TransposedConvolution
    | Product
    | Pooling
    | Softmax
    | Normalisation
    | Elementwise
    | Concatenation
    | Partition
    | View
    | Gathering
    | Scattering
    | ElementGathering
    | ElementScattering
    | Padding
    | Resizing
    | Accumulation
    | Ranking
    | Reduction
    | RowNormalisation
)
