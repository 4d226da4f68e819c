"""Which weights are kept, and when the others are asked for."""

from itertools import accumulate

from hypothesis import assume, given
from hypothesis import strategies as st

from benanza_runner.cuda.whole_model.asks import (
    BYTES_A_US,
    LEAST_BYTES,
    MOST_BYTES,
    WAITS_US,
    Reading,
    asks,
    keepers,
)

US = BYTES_A_US
"""The bytes that come in a microsecond."""

readings = st.lists(
    st.builds(
        Reading,
        st.sampled_from([0, 1000, LEAST_BYTES // 2, LEAST_BYTES, 9 * US, MOST_BYTES + 1]),
        st.floats(0.5, 60.0),
        st.sampled_from([0.0, WAITS_US, 9.0]),
    ),
    max_size=30,
)


def test_weights_are_asked_for_as_late_as_they_come_in_time() -> None:
    short, long, reader = Reading(0, 3.0, 0.0), Reading(0, 20.0, 0.0), Reading(9 * US, 5.0, 9.0)
    assert asks([long, long, reader]) == {1: [2]}
    assert asks([long, short, reader]) == {0: [2]}
    assert asks([short, short, reader]) == {0: [2]}


def test_those_asked_for_before_others_come_before_them() -> None:
    long, reader = Reading(0, 11.0, 0.0), Reading(9 * US, 1.0, 9.0)
    assert asks([long, long, reader, reader]) == {0: [2], 1: [3]}


def test_little_goes_with_what_comes_before_it() -> None:
    little, much = Reading(LEAST_BYTES // 3, 5.0, 2.0), Reading(9 * US, 30.0, 9.0)
    assert asks([much, little, little, little, little, much]) == {0: [1, 2, 3], 3: [4, 5]}


def test_what_does_not_wait_is_not_asked_for() -> None:
    assert asks([Reading(0, 5.0, 0.0), Reading(9, 5.0, WAITS_US / 2)]) == {}
    assert asks([Reading(0, 5.0, 0.0), Reading(MOST_BYTES + 1, 5.0, 9.0)]) == {}
    assert asks([]) == {}


@given(readings, st.frozensets(st.integers(0, 30)))
def test_each_call_that_waits_is_asked_for_once_and_before_it_starts(
    calls: list[Reading], kept: frozenset[int]
) -> None:
    found = asks(calls, kept)
    waiting = [at for at, call in enumerate(calls) if at and at not in kept and call.worth_asking]
    assert [later for wanted in found.values() for later in wanted] == waiting
    assert all(call < min(wanted) for call, wanted in found.items())
    assert list(found) == sorted(found)


@given(readings)
def test_all_come_in_time_where_the_first_call_needn_t_ask(calls: list[Reading]) -> None:
    found = asks(calls)
    assume(0 not in found)
    starts_us = [0.0, *accumulate(call.us for call in calls)]
    there_us = 0.0
    for call, wanted in found.items():
        there_us = max(there_us, starts_us[call])
        for later in wanted:
            there_us += calls[later].weight_bytes / BYTES_A_US
            assert there_us <= starts_us[later] + 1e-6


@given(readings, st.integers(0, 2 * MOST_BYTES))
def test_what_is_kept_waits_and_is_no_more_than_allowed(calls: list[Reading], most: int) -> None:
    kept = keepers(calls, most)
    assert sum(calls[call].weight_bytes for call in kept) <= most
    assert all(calls[call].worth_asking for call in kept)


def test_what_waits_longest_for_each_byte_is_kept() -> None:
    calls = [Reading(10, 1.0, 2.0), Reading(10, 1.0, 3.0), Reading(20, 1.0, 5.0)]
    assert keepers(calls, 15) == {1}
    assert keepers(calls, 20) == {0, 1}
    assert keepers(calls, 30) == {1, 2}
    assert keepers(calls, 40) == {0, 1, 2}
