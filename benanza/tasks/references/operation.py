"""An operator of a layer, as those see it who write it as an expression."""

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from benanza_runner.onnx_layers.onnx_schemas import numpy_dtype
from benanza_schemas.layer import OMITTED, Layer, Operator

Pads = list[tuple[int, int]]


class NoReferenceError(ValueError):
    """No reference can be written; the text says for what, and why."""


class LaidWindows(NamedTuple):
    """How windows lie over the axes behind the first two: `pads` before and after each axis are
    enough for all of them; `counted` are those that the model asks for.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: Pads
    counted: Pads


class ReferredOperation(NamedTuple):
    """An operator with the names of what it reads, `""` where it is left out, and its layer."""

    operator: Operator
    names: tuple[str, ...]
    layer: Layer

    def shape(self, slot: int = 0) -> tuple[int, ...]:
        """The shape of an input."""
        return self.layer.tensors[self.operator.inputs[slot]].shape

    def out_shape(self, slot: int = 0) -> tuple[int, ...]:
        """The shape of an output."""
        return self.layer.tensors[self.operator.outputs[slot]].shape

    def out_dtype(self) -> str:
        """The element type of the first output."""
        return self.layer.tensors[self.operator.outputs[0]].dtype

    def has(self, slot: int) -> bool:
        """Whether an input is there."""
        return len(self.names) > slot and bool(self.names[slot])

    def known(self, slot: int, attribute: str) -> list[int] | None:
        """Integers that are an input or, in older versions, an attribute; None if there are none.
        Raises `NoReferenceError` if the model doesn't fix them.
        """
        if not self.has(slot):
            return list(self.operator.integers(attribute)) or None
        tensor = self.layer.tensors[self.operator.inputs[slot]]
        if tensor.value is None:
            raise NoReferenceError(f"{self.operator.op_type} is told by another layer what to do")
        found: list[Any] = np.frombuffer(tensor.value, numpy_dtype(tensor.dtype)).tolist()
        return found

    def axes(self, slot: int) -> tuple[int, ...]:
        """The axes of a reduction, all of them where it names none."""
        named = self.known(slot, "axes")
        if named is None and self.operator.integer("noop_with_empty_axes"):
            raise NoReferenceError(f"{self.operator.op_type} reduces nothing")
        rank = len(self.shape())
        return tuple(sorted(axis % rank for axis in named)) if named else tuple(range(rank))

    def windows(self, kernel: Sequence[int]) -> LaidWindows:
        """Those of a convolution or a pooling."""
        operator, sizes, places = self.operator, self.shape()[2:], self.out_shape()[2:]
        ones = (1,) * len(kernel)
        strides = operator.integers("strides", ones)
        dilations = operator.integers("dilations", ones)
        spans = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
        given = operator.integers("pads", (0,) * (2 * len(kernel)))
        before, after = list(given[: len(kernel)]), list(given[len(kernel) :])
        automatic = operator.text("auto_pad", "NOTSET")
        for axis, (size, stride, span) in enumerate(zip(sizes, strides, spans, strict=True)):
            if automatic.startswith("SAME"):
                total = max((ceil(size / stride) - 1) * stride + span - size, 0)
                less, more = total // 2, total - total // 2
                upper = automatic == "SAME_UPPER"
                before[axis], after[axis] = (less, more) if upper else (more, less)
        needed = [
            max((place - 1) * stride + span - size - first, last)
            for place, stride, span, size, first, last in zip(
                places, strides, spans, sizes, before, after, strict=True
            )
        ]
        counted = list(zip(before, after, strict=True))
        enough = list(zip(before, needed, strict=True))
        return LaidWindows(tuple(kernel), strides, dilations, enough, counted)


def operations(layer: Layer, names: dict[int, str]) -> list[ReferredOperation]:
    """The operators of a layer, whose tensors have these names."""
    return [
        ReferredOperation(each, tuple([names.get(i, "") for i in each.inputs]), layer)
        for each in layer.operators
    ]


def written(operator: Operator) -> list[int]:
    """The outputs that are there."""
    return [index for index in operator.outputs if index != OMITTED]
