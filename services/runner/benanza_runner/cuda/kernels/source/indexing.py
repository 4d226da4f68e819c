"""Indices of kernels: from one number to offsets along as few axes as possible."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from benanza_runner.cuda.calls import Shape


class Axis(NamedTuple):
    """The name of an axis's length, and for each target what a step along the axis adds to it."""

    length: str
    steps: Sequence[tuple[str, str]]


def walk(rest: str, axes: Sequence[Axis]) -> str:
    """Statements that add the offsets of the index `rest` to the targets, and change `rest`.

    The last of the axes is the fastest. Targets and steps are names of C; steps of `1` and `0` need
    no multiplication.
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
    """`inner` and `size` of an operand that has these axes of the output.

    At index i of the output it has the element `(i // inner) % size`. It is None if its axes are
    apart in this order.
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
    """Lengths of axes, the slowest first, and for each operand its stride on each of them."""

    lengths: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]


def walked(output: Shape, owned: list[tuple[int, ...]], order: tuple[int, ...]) -> Walk:
    """How operands are read that each own some axes; axes with the same owners are joined."""
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
