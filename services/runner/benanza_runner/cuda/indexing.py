"""Indices in the sources of kernels: from one number to offsets by way of axes."""

from collections.abc import Sequence
from typing import NamedTuple


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
