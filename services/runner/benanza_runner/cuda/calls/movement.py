"""Calls that move elements, or change the size of feature maps."""

import msgspec

from benanza_runner.cuda.calls.shape import Shape


class Concatenation(msgspec.Struct, frozen=True):
    """Operands `in0`, … next to each other along an axis."""

    shapes: tuple[Shape, ...]
    axis: int
    output: Shape
    element: str = ""


class Splitting(msgspec.Struct, frozen=True):
    """The operand `input` cut along an axis into parts of these lengths.

    `results` are the numbers of the parts that are results, in order.
    """

    input: Shape
    axis: int
    lengths: tuple[int, ...]
    results: tuple[int, ...]
    element: str = ""


class View(msgspec.Struct, frozen=True):
    """A copy of the operand `input` seen with other steps: slices, then axes in another order,
    then repeated to the shape of the output.

    `input` may be another shape of as many elements. `starts`, `stops` and `steps` are as in
    Python's slices, one for each axis; a stop of `None` is the end on either side.
    """

    input: Shape
    starts: tuple[int | None, ...]
    stops: tuple[int | None, ...]
    steps: tuple[int, ...]
    order: tuple[int, ...]
    output: Shape
    element: str = ""


class Shuffle(msgspec.Struct, frozen=True):
    """The operand `input`, its channels (axis 1) seen as a table of so many `rows` and read by
    columns.
    """

    input: Shape
    rows: int
    element: str = ""


class Gathering(msgspec.Struct, frozen=True):
    """Runs of `inner` elements of the operand `input`, chosen by tuples of the operand `indices`.

    The input is `batch` arrays of the axes `named`, of runs. Each batch has `rows` tuples of
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
    """A copy of the operand `input` in which tuples of `indices` say where `updates` go.

    The input is an array of the axes `named`, of runs of `inner` elements; there are `rows`
    tuples and runs of updates. No two tuples are the same.
    """

    output: Shape
    named: Shape
    inner: int
    rows: int
    index_element: str
    element: str = ""


class ElementGathering(msgspec.Struct, frozen=True):
    """Elements of `input` where the output is, but on one axis where `indices` says."""

    input: Shape
    axis: int
    output: Shape
    index_element: str
    element: str = ""


class ElementScattering(msgspec.Struct, frozen=True):
    """A copy of `input` with elements of `updates` where they are themselves, but on one axis
    where `indices` says, which has the shape of `updates`. No two go to the same place.
    """

    output: Shape
    axis: int
    updates: Shape
    index_element: str
    element: str = ""


class Padding(msgspec.Struct, frozen=True):
    """The operand `input` with `before` elements more at the start of each axis, or fewer.

    `mode` says what they are, as in ONNX: `constant`, which is `value`, `edge`, `reflect` or
    `wrap`.
    """

    input: Shape
    before: Shape
    output: Shape
    mode: str
    value: float
    element: str = ""


class Resizing(msgspec.Struct, frozen=True):
    """The operand `input` in another size; one of `scales` for each axis.

    `mode` is `nearest` or `linear`; `coordinates` and `rounding` are ONNX's
    `coordinate_transformation_mode` and `nearest_mode`.
    """

    input: Shape
    output: Shape
    scales: tuple[float, ...]
    mode: str
    coordinates: str
    rounding: str
    element: str = ""
