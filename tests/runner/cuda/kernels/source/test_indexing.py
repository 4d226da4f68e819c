"""Offsets by few axes are those that NumPy finds by all of them."""

from itertools import permutations
from math import prod

import numpy as np
import pytest

from benanza_runner.cuda.kernels.source.indexing import Axis, repeats, walk, walked

SHAPE = (2, 3, 1, 4)
ORDERS = list(permutations(range(4)))
OWNED = [tuple(a for a in range(4) if mask >> a & 1 and SHAPE[a] != 1) for mask in range(16)]


def read_along(axes: tuple[int, ...], order: tuple[int, ...]) -> list[int]:
    """Which element of an operand that owns these axes is read at each index of the output."""
    shape = [SHAPE[axis] if axis in axes else 1 for axis in order]
    numbered = np.arange(prod(shape)).reshape(shape)
    found: list[int] = np.broadcast_to(numbered, [SHAPE[a] for a in order]).ravel().tolist()
    return found


def offset(index: int, axes: list[tuple[int, int]]) -> int:
    found = 0
    for length, step in reversed(axes):
        found += index % length * step
        index //= length
    return found


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_repeated_is_read_in_place(order: tuple[int, ...]) -> None:
    for axes in OWNED:
        expected = read_along(axes, order)
        steps = repeats(SHAPE, axes, order)
        if steps is not None:
            inner, size = steps
            assert [i // inner % size for i in range(prod(SHAPE))] == expected
        lengths, (mine, _) = walked(SHAPE, [axes, (0, 3)], order)
        pairs = list(zip(lengths, mine, strict=True))
        assert [offset(i, pairs) for i in range(prod(SHAPE))] == expected


def test_axes_that_go_together_are_one() -> None:
    assert walked((2, 3, 1, 4), [(2, 3)], (0, 1, 2, 3)) == ((6, 4), ((0, 1),))
    assert repeats((2, 3, 4, 5), (1, 3), (0, 1, 2, 3)) is None
    assert repeats((2, 3, 1, 5), (1, 3), (0, 1, 2, 3)) == (1, 15)


def test_the_source_of_a_walk() -> None:
    source = walk("rest", [Axis("n0", [("a", "s0"), ("b", "0")]), Axis("n1", [("a", "1")])])
    assert source.split("\n  ") == [
        "{ const unsigned c = rest % n1; rest /= n1; a += c; }",
        "{ const unsigned c = rest; a += c * s0; }",
    ]
