"""Calls that work along rows: sums, ranks, norms."""

import msgspec

from benanza_runner.cuda.calls.shape import Shape


class Accumulation(msgspec.Struct, frozen=True):
    """Sums of what comes before, over the middle one of three axes of the operand `input`."""

    output: Shape
    outer: int
    size: int
    inner: int
    exclusive: bool
    reverse: bool
    element: str = ""


class Ranking(msgspec.Struct, frozen=True):
    """The `count` largest or smallest elements on the middle one of three axes of `input`.

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
    """The operand `input` reduced over axes.

    `kind` is ONNX's name without `Reduce`: `Mean`, `SumSquare`.
    """

    kind: str
    input: Shape
    axes: tuple[int, ...]
    output: Shape
    element: str = ""


class RowNormalisation(msgspec.Struct, frozen=True):
    """`(x - mean) · factor · scale + bias`; mean and factor are those of a row of `x`.

    `x` is the operand `input`, or its sum with the operand `residual`, which lies as it does.

    The input has axes of these `lengths`, of which a row has those that are `reduced`, and
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
    residual: bool = False
