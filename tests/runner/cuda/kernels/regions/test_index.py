"""Simplified indices have the values of those that they were made of."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.cuda.kernels.regions.index import (
    Index,
    divided,
    flattened,
    loop,
    number,
    parted,
    remainder,
    total,
    unflattened,
)

SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


def values(index: Index, loops: dict[str, int]) -> int:
    """What the expression of C is, for these variables of loops; all numbers are at least 0."""
    found = eval(index.text().replace("/", "//"), {}, loops)  # our own text
    assert isinstance(found, int)
    return found


def places(sizes: tuple[int, ...]) -> list[dict[str, int]]:
    names = [f"a{axis}" for axis in range(len(sizes))]
    return [dict(zip(names, at, strict=True)) for at in product(*map(range, sizes))]


def loops(sizes: tuple[int, ...]) -> tuple[Index, ...]:
    return tuple(loop(f"a{axis}", size) for axis, size in enumerate(sizes))


@given(SIZES, st.integers(1, 12), st.integers(0, 9))
def test_quotients_and_remainders(sizes: tuple[int, ...], divisor: int, more: int) -> None:
    index = total((flattened(loops(sizes), sizes), 1), constant=more)
    quotient, rest = divided(index, divisor), remainder(index, divisor)
    again = total((quotient, divisor), (rest, 1))
    for at in places(sizes):
        value = values(index, at)
        assert values(quotient, at) == value // divisor
        assert values(rest, at) == value % divisor
        assert values(again, at) == value
        assert rest.low <= value % divisor <= rest.high
        assert quotient.low <= value // divisor <= quotient.high


@given(SIZES)
def test_another_shape_and_back(sizes: tuple[int, ...]) -> None:
    index = flattened(loops(sizes), sizes)
    other = tuple(reversed(sizes))
    back = flattened(unflattened(index, other), other)
    for at in places(sizes):
        assert values(back, at) == values(index, at)


def test_the_own_shape_gives_the_own_indices() -> None:
    sizes = (3, 1, 5, 4)
    assert unflattened(flattened(loops(sizes), sizes), sizes) == loops(sizes)


def test_an_axis_that_is_split_and_joined_is_itself() -> None:
    joined = loop("a0", 48)
    parts = unflattened(joined, (2, 3, 8))
    assert flattened(parts, (2, 3, 8)) == joined


def test_what_is_divided_may_begin_below_nothing() -> None:
    """An index that runs backwards: 5 - i."""
    index = total((loop("a0", 6), -1), constant=5)
    quotient, rest = divided(index, 4), remainder(index, 4)
    for at in places((6,)):
        assert values(quotient, at) == (5 - at["a0"]) // 4
        assert values(rest, at) == (5 - at["a0"]) % 4


def test_parts_of_a_sum() -> None:
    index = total((loop("a0", 3), 8), (loop("j", 8), 1))
    assert parted(index, 8) == (loop("a0", 3), loop("j", 8))
    assert parted(total((index, 1), constant=3), 8) is None
    assert parted(number(17), 8) == (number(2), number(1))
