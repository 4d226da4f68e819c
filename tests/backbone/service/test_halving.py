"""What can't be stored is found, whatever it is among, and the rest is stored."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_backbone.service.halving import refused


@given(st.lists(st.booleans()))
def test_all_that_can_be_stored_is_and_the_rest_is_named(fitting: list[bool]) -> None:
    stored: set[int] = set()
    tries = 0

    def store(part: Sequence[int]) -> None:
        nonlocal tries
        tries += 1
        for number in part:
            if not fitting[number]:
                raise ValueError(str(number))
            stored.add(number)

    numbers = range(len(fitting))
    found = refused(numbers, store, ValueError)

    wrong = [number for number in numbers if not fitting[number]]
    assert stored == set(numbers) - set(wrong)
    assert [number for number, _ in found] == wrong
    assert [str(error) for _, error in found] == [str(number) for number in wrong]
    assert tries <= 1 + 2 * len(wrong) * len(fitting).bit_length()


def test_another_error_goes_through() -> None:
    def away(part: Sequence[int]) -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        refused([1, 2], away, ValueError)
