"""Calls that move elements, or change the size of feature maps."""

import msgspec

from benanza_runner.cuda.calls.shape import Shape


class Concatenation(msgspec.Struct, frozen=True):
    """The operands `in0`, `in1`, … joined along an axis."""

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
    """A copy of a view of the operand `input`: sliced, then with its axes in another order, then
    repeated to the shape of the output.

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
    one number for each named axis. If `shared`, all batches have the same tuples. Negative numbers
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
    """Elements of `input` at the places of the output, except on one axis, where `indices` says."""

    input: Shape
    axis: int
    output: Shape
    index_element: str
    element: str = ""


class ElementScattering(msgspec.Struct, frozen=True):
    """A copy of `input` in which elements of `updates` are written to their own places, except on
    one axis, where `indices` says. `indices` has the shape of `updates`. No two elements go to the
    same place.
    """

    output: Shape
    axis: int
    updates: Shape
    index_element: str
    element: str = ""


class Padding(msgspec.Struct, frozen=True):
    """The operand `input` with `before` more elements at the start of each axis; fewer if negative.

    `mode` says what they are, as in ONNX: `constant` (then they are `value`), `edge`, `reflect` or
    `wrap`.
    """

    input: Shape
    before: Shape
    output: Shape
    mode: str
    value: float
    element: str = ""


class Resizing(msgspec.Struct, frozen=True):
    """The operand `input` in another size, with a factor for each axis in `scales`.

    `mode` is `nearest`, `linear` or `cubic`; `coordinates`, `rounding`, `steepness` and
    `only_inside` are ONNX's `coordinate_transformation_mode`, `nearest_mode`, `cubic_coeff_a` and
    `exclude_outside`; the last two are for `cubic` only.
    """

    input: Shape
    output: Shape
    scales: tuple[float, ...]
    mode: str
    coordinates: str
    rounding: str
    steepness: float = 0.0
    only_inside: bool = False
    element: str = ""
