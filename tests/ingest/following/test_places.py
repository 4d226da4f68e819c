"""Where the batch is in a tensor that is seen otherwise."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.following.places import BatchPlace, plain_place, scaled_axis, seen_as

SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def test_one_axis_must_grow_as_the_batch_does() -> None:
    assert scaled_axis((1, 3, 4), (8, 3, 4), 1, 8) == 0
    assert scaled_axis((49, 12), (392, 12), 1, 8) == 0
    assert scaled_axis((2, 6), (2, 18), 2, 6) == 1
    for new in [(1, 3, 4), (8, 3, 8), (7, 3, 4), (8, 3), (8, 24, 4)]:
        assert scaled_axis((1, 3, 4), new, 1, 8) is None


@given(outer=SIZES, inner=SIZES, former=st.integers(1, 3), seen=SIZES, data=st.data())
def test_the_batch_is_where_its_elements_are(
    outer: list[int], inner: list[int], former: int, seen: list[int], data: st.DataObject
) -> None:
    """By looking: each element of the batch is a part of the tensor, marked with its number."""
    sizes = [*outer, former, *inner]
    whole = prod(sizes)
    seen = [size for size in seen if size > 1]
    rest, left = divmod(whole, max(1, prod(seen)))
    if left:
        seen, rest = [], whole
    seen.insert(data.draw(st.integers(0, len(seen))), rest)
    marks = np.broadcast_to(
        np.arange(former).reshape(former, *[1] * len(inner)), sizes
    ).reshape(seen)  # fmt: skip
    found = seen_as(BatchPlace(len(outer), 1), sizes, seen, former)
    for axis, within in found:
        assert within is not None
        numbers = np.arange(seen[axis]) // within % former
        expected = numbers.reshape(-1, *[1] * (len(seen) - axis - 1))
        assert (marks == np.broadcast_to(expected, seen)).all()
    if former > 1:
        for axis, within in product(range(len(seen)), range(1, whole + 1)):
            if seen[axis] % (within * former) == 0 and BatchPlace(axis, within) not in found:
                numbers = np.arange(seen[axis]) // within % former
                expected = numbers.reshape(-1, *[1] * (len(seen) - axis - 1))
                assert (marks != np.broadcast_to(expected, seen)).any()


def test_an_axis_that_holds_more_in_an_unknown_order_stays_whole() -> None:
    assert seen_as(BatchPlace(0, None), (6, 8), (6, 2, 4), 2) == [BatchPlace(0, None)]
    assert seen_as(BatchPlace(0, None), (6, 8), (2, 3, 8), 2) == []


@pytest.mark.parametrize(
    ("place", "sizes", "seen", "found"),
    [
        (BatchPlace(0, 1), (1, 24), (1, 24), BatchPlace(0, 1)),
        (BatchPlace(0, 1), (1, 24), (1, 1, 4, 6), BatchPlace(0, 1)),
        (BatchPlace(0, 1), (1, 4, 6), (4, 6), BatchPlace(0, 4)),
        (BatchPlace(0, 4), (4, 6), (1, 4, 6), BatchPlace(0, 1)),
        (BatchPlace(1, 1), (5, 1, 24), (5, 1, 4, 6), BatchPlace(1, 1)),
        (BatchPlace(0, 1), (5, 24), (5, 1, 24), BatchPlace(1, 1)),
        (BatchPlace(2, 1), (5, 1, 1, 24), (5, 1, 1, 4, 6), BatchPlace(2, 1)),
        # Tokens × batch × width: the batch may join the tokens or the width.
        (BatchPlace(1, 1), (5, 1, 24), (5, 24), None),
        # The axis of size 1 may be the one that came after the batch.
        (BatchPlace(1, 1), (5, 1, 1), (5, 1), None),
        (BatchPlace(1, 1), (5, 1, 24), (5, 1, 1, 24), None),
    ],
)
def test_at_batch_size_1_it_is_where_it_plainly_is(
    place: BatchPlace, sizes: tuple[int, ...], seen: tuple[int, ...], found: BatchPlace | None
) -> None:
    assert plain_place(place, sizes, seen, 1) == found


def test_at_another_batch_size_there_is_one_place() -> None:
    assert plain_place(BatchPlace(1, 1), (5, 2, 24), (10, 24), 2) == BatchPlace(0, 1)
    assert plain_place(BatchPlace(1, 1), (5, 2, 24), (5, 48), 2) == BatchPlace(1, 24)
    assert plain_place(BatchPlace(1, 1), (5, 2, 1), (5, 2), 2) == BatchPlace(1, 1)
