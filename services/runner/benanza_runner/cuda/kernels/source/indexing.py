"""Indices of kernels: from one number to offsets by way of axes, as few of them as will do."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from benanza_runner.cuda.calls import Shape


class Axis(NamedTuple):
    """The name of an axis's length, and what a step along it adds to each target."""

    length: str
    steps: Sequence[tuple[str, str]]


def walk(rest: str, axes: Sequence[Axis]) -> str:
    """Statements that add to the targets what the index `rest` stands for, and use it up.

    The last of the axes is the fastest. Targets and steps are names of C; steps that are `1`
    or `0` cost nothing.
    """
    lines = []
    for at, axis in reversed(list(enumerate(axes))):
        place = f"{rest} % {axis.length}" if at else rest
        adds = "".join(_add(target, step) for target, step in axis.steps)
        follow = f" {rest} /= {axis.length};" if at else ""
        lines.append(f"{{ const unsigned c = {place};{follow}{adds} }}")
    return "\n  ".join(lines)


def _add(target: str, step: str) -> str:
    if step == "0":
        return ""
    return f" {target} += c;" if step == "1" else f" {target} += c * {step};"


def repeats(output: Shape, axes: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, int] | None:
    """`inner` and `size`: at index i of the output lies the element `(i // inner) % size` of
    what has these of its axes. None where they are apart in this order.
    """
    sizes = [(output[axis], axis in axes) for axis in order if output[axis] != 1]
    places = [at for at, (_, mine) in enumerate(sizes) if mine]
    if not places:
        return 1, 1
    if places != list(range(places[0], places[-1] + 1)):
        return None
    inner = prod(size for size, _ in sizes[places[-1] + 1 :])
    return inner, prod(size for size, mine in sizes if mine)


class Walk(NamedTuple):
    """Lengths of axes, the slowest first, and for each operand the step on each of them."""

    lengths: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]


def walked(output: Shape, owned: list[tuple[int, ...]], order: tuple[int, ...]) -> Walk:
    """How operands that own some of the axes each are read; axes that go together are joined."""
    lengths: list[int] = []
    owners: list[tuple[bool, ...]] = []
    for axis in order:
        mine = tuple(axis in axes for axes in owned)
        if output[axis] == 1:
            continue
        if owners and owners[-1] == mine:
            lengths[-1] *= output[axis]
        else:
            lengths.append(output[axis])
            owners.append(mine)
    steps = []
    for which in range(len(owned)):
        after = 1
        found = []
        for length, mine in zip(reversed(lengths), reversed(owners), strict=True):
            found.append(after if mine[which] else 0)
            after *= length if mine[which] else 1
        steps.append(tuple(reversed(found)))
    return Walk(tuple(lengths), tuple(steps))


class Rows(NamedTuple):
    """Lengths and steps of the axes that tell rows apart, and of those within a row.

    The steps are those of the input, and for `affine` those of scale and bias.
    """

    outside: list[tuple[int, int, int]]
    inside: list[tuple[int, int, int]]

    def numbers(self) -> list[int]:
        """As kernels take them: length and steps of each axis, outside first."""
        return [number for axis in (*self.outside, *self.inside) for number in axis]


def split(
    lengths: Shape, steps: Shape, reduced: tuple[bool, ...], affine_steps: Shape | None = None
) -> Rows:
    """Axes in the order in which they are counted; those that run on into the next are one."""
    sides: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]] = ([], [])
    affine_steps = affine_steps or (0,) * len(lengths)
    for length, step, inside, affine in zip(lengths, steps, reduced, affine_steps, strict=True):
        axes = sides[inside]
        if length == 1:
            continue
        if axes and axes[-1][1] == length * step and axes[-1][2] == length * affine:
            axes[-1] = axes[-1][0] * length, step, affine
        else:
            axes.append((length, step, affine))
    return Rows(sides[0] or [(1, 0, 0)], sides[1] or [(1, 0, 0)])


def joined(
    output: Shape,
    x: Shape,
    changes: tuple[float, ...],
    neutral: float,
    order: tuple[int, ...],
) -> list[tuple[int, int, float]]:
    """Lengths in the output and in the input, and the change, of each axis in this order.

    Axes next to each other that stay as they are, with a neutral change, are one.
    """
    axes: list[tuple[int, int, float]] = []
    kept: list[bool] = []
    for axis in order:
        same = output[axis] == x[axis] and changes[axis] == neutral
        if same and kept and kept[-1]:
            out, size, change = axes[-1]
            axes[-1] = (out * output[axis], size * x[axis], change)
        else:
            axes.append((output[axis], x[axis], changes[axis]))
            kept.append(same)
    return axes
