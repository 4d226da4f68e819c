"""Rows are what NumPy makes of the rows' numbers, however a value is moved."""

import random
from math import prod

import numpy as np
import numpy.typing as npt
import pytest

from benanza_ingest.groups.regions.rows import (
    Rows,
    changed_along,
    repeated,
    reshaped,
    rows_of,
    unknown,
)

Numbers = npt.NDArray[np.int64]
ORIGIN = (7, 0)


def numbers_of(rows: Rows) -> Numbers:
    """The number of the row of each element."""
    found: Numbers = np.zeros((), np.int64)
    for axis in rows:
        along: Numbers = np.zeros((), np.int64)
        for size, weight in axis:
            along = (along[..., None] + weight * np.arange(size)).reshape(-1)
        found = found[..., None] + along
    return found


def rows_in_numpy(shape: tuple[int, ...], inner: frozenset[int]) -> Numbers:
    outer = [1 if axis in inner else size for axis, size in enumerate(shape)]
    return np.broadcast_to(np.arange(prod(outer)).reshape(outer), shape)


@pytest.mark.parametrize("seed", range(200))
def test_rows_after_views_and_transposes(seed: int) -> None:
    chance = random.Random(seed)
    shape = tuple(chance.choice((1, 2, 3, 4, 6)) for _ in range(chance.randrange(1, 5)))
    inner = frozenset(axis for axis in range(len(shape)) if chance.random() < 0.5)
    rows, numbers = rows_of(shape, inner), rows_in_numpy(shape, inner)
    assert np.array_equal(numbers_of(rows), numbers)
    for _ in range(4):
        if chance.random() < 0.5:
            order = chance.sample(range(numbers.ndim), numbers.ndim)
            rows, numbers = tuple(rows[axis] for axis in order), numbers.transpose(order)
        else:
            shape = another_shape(numbers.size, chance)
            found = reshaped(rows, shape, ORIGIN)
            if found == unknown(ORIGIN):  # an axis ends in the middle of one of the rows' axes
                return
            rows, numbers = found, numbers.reshape(shape)
        assert np.array_equal(numbers_of(rows), numbers)


def another_shape(size: int, chance: random.Random) -> tuple[int, ...]:
    found = []
    while size > 1:
        factor = chance.choice([n for n in range(2, size + 1) if size % n == 0])
        found.append(factor)
        size //= factor
    return tuple(found)


def test_equal_rows_look_equal() -> None:
    rows = rows_of((2, 6, 8), frozenset((2,)))
    split = reshaped(rows, (2, 2, 3, 4, 2), ORIGIN)
    assert split != rows
    assert reshaped(split, (2, 6, 8), ORIGIN) == rows
    assert reshaped(rows, (12, 8), ORIGIN) == rows_of((12, 8), frozenset((1,)))
    assert reshaped(rows, (1, 2, 1, 6, 8), ORIGIN)[1::2] == rows[:2]


def test_a_view_that_cuts_rows_in_two() -> None:
    rows = rows_of((6, 4), frozenset((1,)))
    assert reshaped(rows, (3, 8), ORIGIN)[1] == ((2, 1), (4, 0))
    assert reshaped(rows_of((6,), frozenset()), (4, 2), ORIGIN) == unknown(ORIGIN)
    assert reshaped(rows, (4, 6), ORIGIN) == unknown(ORIGIN)


def test_repeated_values_have_the_rows_of_what_is_repeated() -> None:
    rows = rows_of((2, 5, 1), frozenset((2,)))
    assert np.array_equal(
        numbers_of(repeated(rows, (3, 2, 5, 8), ORIGIN)),
        np.broadcast_to(np.arange(10).reshape(2, 5, 1), (3, 2, 5, 8)),
    )
    assert repeated(rows, (2, 5, 8), ORIGIN) == rows_of((2, 5, 8), frozenset((2,)))


def test_what_changes_within_rows_keeps_them() -> None:
    rows = rows_of((2, 5, 8), frozenset((2,)))
    assert changed_along(rows, 2, 3, ORIGIN) == rows_of((2, 5, 3), frozenset((2,)))
    assert changed_along(rows, 1, 3, ORIGIN) == unknown(ORIGIN)
    assert changed_along(unknown((1, 0)), 0, 3, ORIGIN) == unknown(ORIGIN)


def test_unknown_rows_are_equal_only_to_themselves() -> None:
    assert unknown((1, 0)) == unknown((1, 0))
    assert len({unknown((1, 0)), unknown((1, 1)), unknown((2, 0))}) == 3
    assert reshaped(unknown((1, 0)), (3,), ORIGIN) == unknown(ORIGIN)
    assert repeated(unknown((1, 0)), (3,), ORIGIN) == unknown(ORIGIN)
