"""Calls of several GPUs, the ranks: each has an operand `input`, and all get the result."""

from math import prod

import msgspec

from benanza_runner.cuda.calls.shape import Shape


class AllReduce(msgspec.Struct, frozen=True):
    """The sum of the operands of all ranks, each of which is a tensor of this shape."""

    output: Shape
    ranks: int


class AllGather(msgspec.Struct, frozen=True):
    """The operands of all ranks, one behind another along an axis of the result."""

    output: Shape
    ranks: int
    axis: int

    @property
    def outer(self) -> int:
        """How often a part of each rank comes in the result: the sizes before the axis."""
        return prod(self.output[: self.axis])
