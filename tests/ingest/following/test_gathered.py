"""What a Gather picks from each element of the batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.following.gathered import picked_from_all, picked_from_each, place_in_indices
from benanza_ingest.following.places import BatchPlace


@given(
    first=st.lists(st.integers(0, 5), min_size=1, max_size=6),
    former=st.integers(2, 4),
    batch=st.integers(1, 5),
)
def test_the_same_is_picked_from_each_element_of_the_batch(
    first: list[int], former: int, batch: int
) -> None:
    """By looking: of `data`, each element of the batch is a row."""

    def rows(count: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        return np.arange(count * 6).reshape(count, 6)

    indices = (np.array(first) + 6 * np.arange(former).reshape(former, 1)).reshape(former, -1)
    found = picked_from_each(indices, 6, former)
    assert found is not None
    assert found.tolist() == first
    places = picked_from_all(found, 6, batch)
    assert (rows(batch).ravel()[places] == rows(batch)[:, first].ravel()).all()
    assert place_in_indices(len(first), indices.shape, former) == BatchPlace(0, 1)


@pytest.mark.parametrize(
    ("indices", "former"),
    [
        ([[0, 1, 2]], 1),  # a part of the first
        ([[0, 1, 2, 3], [4, 5, 6, 8]], 2),  # something else of the second
        ([[4, 5, 6, 7], [0, 1, 2, 3]], 2),  # in another order
        ([[0, 1, 2, 4], [4, 5, 6, 8]], 2),  # from the next one as well
        ([[0, 1, 2]], 2),
        ([[]], 1),
    ],
)
def test_it_may_be_something_else(indices: list[list[int]], former: int) -> None:
    assert picked_from_each(np.array(indices, np.int64), 4, former) is None


def test_one_element_that_is_picked_may_be_the_first_of_the_batch() -> None:
    assert picked_from_each(np.array([[0]]), 1, 1) is None


def test_one_element_of_the_batch_plainly_means_each_if_all_of_it_is_picked() -> None:
    first = picked_from_each(np.array([[-4, 2, 1, -1]]), 4, 1)
    assert first is not None
    assert first.tolist() == [0, 2, 1, 3]
    assert picked_from_all(first, 4, 3).tolist() == [0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11]


@pytest.mark.parametrize(
    ("shape", "place"),
    [
        ((1, 2, 3), BatchPlace(0, 1)),
        ((1, 1, 6), BatchPlace(0, 1)),
        # Without an axis for the batch it is in the first.
        ((2, 3), BatchPlace(0, 2)),
        ((6,), BatchPlace(0, 6)),
    ],
)
def test_the_batch_comes_first_in_the_indices(shape: tuple[int, ...], place: BatchPlace) -> None:
    assert place_in_indices(6, shape, 1) == place
