"""Operators computed by loops over scalars that count their multiplications."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from tests.ingest.running import Array


class Counter:
    """Multiplies, and counts how often."""

    def __init__(self) -> None:
        self.multiplications = 0

    def times(self, one: float, other: float) -> float:
        self.multiplications += 1
        return one * other


def convolution(
    x: Array,
    w: Array,
    *,
    pads: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    group: int,
    counter: Counter,
) -> Array:
    """ONNX's Conv for any rank; zeros of the padding are multiplied as well."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *((pads[a], pads[a + rank]) for a in range(rank))])
    reach = [dilations[a] * (w.shape[2 + a] - 1) + 1 for a in range(rank)]
    sizes = [(x.shape[2 + a] - reach[a]) // strides[a] + 1 for a in range(rank)]
    y = np.zeros((x.shape[0], w.shape[0], *sizes), np.float32)
    per_group = w.shape[0] // group
    for n, m, *at in product(*map(range, y.shape)):
        for c, *tap in product(*map(range, w.shape[1:])):
            place = [at[a] * strides[a] + tap[a] * dilations[a] for a in range(rank)]
            channel = m // per_group * w.shape[1] + c
            y[(n, m, *at)] += counter.times(x[(n, channel, *place)], w[(m, c, *tap)])
    return y


def transposed_convolution(
    x: Array, w: Array, *, strides: Sequence[int], group: int, counter: Counter
) -> Array:
    """ONNX's ConvTranspose without pads: each element of the input is spread by the kernel."""
    rank = x.ndim - 2
    sizes = [(x.shape[2 + a] - 1) * strides[a] + w.shape[2 + a] for a in range(rank)]
    y = np.zeros((x.shape[0], w.shape[1] * group, *sizes), np.float32)
    per_group = x.shape[1] // group
    for n, c, *at in product(*map(range, x.shape)):
        for m, *tap in product(*map(range, w.shape[1:])):
            place = [at[a] * strides[a] + tap[a] for a in range(rank)]
            channel = c // per_group * w.shape[1] + m
            y[(n, channel, *place)] += counter.times(x[(n, c, *at)], w[(c, m, *tap)])
    return y


def contraction(equation: str, operands: Sequence[Array], counter: Counter) -> Array:
    """An Einsum without an ellipsis, its result named: one loop over all the indices."""
    left, right = equation.replace(" ", "").split("->")
    terms = left.split(",")
    sizes = {
        name: size
        for term, operand in zip(terms, operands, strict=True)
        for name, size in zip(term, operand.shape, strict=True)
    }
    y = np.zeros([sizes[name] for name in right], np.float32)
    for values in product(*(range(size) for size in sizes.values())):
        at = dict(zip(sizes, values, strict=True))
        chosen = [
            operand[tuple(at[name] for name in term)]
            for term, operand in zip(terms, operands, strict=True)
        ]
        value = chosen[0]
        for other in chosen[1:]:
            value = counter.times(value, other)
        y[tuple(at[name] for name in right)] += value
    return y
