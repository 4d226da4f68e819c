"""Which weights are kept, and when the others are asked for."""

from itertools import accumulate

from hypothesis import assume, given
from hypothesis import strategies as st

from benanza_runner.cuda.whole_model.asks import Policy, Reading, asks, keepers

POLICY = Policy(least_bytes=1_000_000, bytes_a_us=400_000)
US = round(POLICY.bytes_a_us)
"""The bytes that come in a microsecond."""

readings = st.lists(
    st.builds(
        Reading,
        st.sampled_from(
            [0, 1000, POLICY.least_bytes // 2, POLICY.least_bytes, 9 * US, POLICY.most_bytes + 1]
        ),
        st.floats(0.5, 60.0),
        st.sampled_from([0.0, POLICY.waits_us, 9.0]),
    ),
    max_size=30,
)


def test_weights_are_asked_for_as_late_as_they_come_in_time() -> None:
    short, long, reader = Reading(0, 3.0, 0.0), Reading(0, 20.0, 0.0), Reading(9 * US, 5.0, 9.0)
    assert asks([long, long, reader], POLICY) == {1: [2]}
    assert asks([long, short, reader], POLICY) == {0: [2]}
    assert asks([short, short, reader], POLICY) == {0: [2]}


def test_those_asked_for_before_others_come_before_them() -> None:
    long, reader = Reading(0, 11.0, 0.0), Reading(9 * US, 1.0, 9.0)
    assert asks([long, long, reader, reader], POLICY) == {0: [2], 1: [3]}


def test_little_goes_with_what_comes_before_it() -> None:
    little, much = Reading(POLICY.least_bytes // 3, 5.0, 2.0), Reading(9 * US, 30.0, 9.0)
    assert asks([much, little, little, little, little, much], POLICY) == {0: [1, 2, 3], 3: [4, 5]}


def test_what_does_not_wait_is_not_asked_for() -> None:
    assert asks([Reading(0, 5.0, 0.0), Reading(9, 5.0, POLICY.waits_us / 2)], POLICY) == {}
    assert asks([Reading(0, 5.0, 0.0), Reading(POLICY.most_bytes + 1, 5.0, 9.0)], POLICY) == {}
    assert asks([], POLICY) == {}


@given(readings, st.frozensets(st.integers(0, 30)))
def test_each_call_that_waits_is_asked_for_once_and_before_it_starts(
    calls: list[Reading], kept: frozenset[int]
) -> None:
    found = asks(calls, POLICY, kept)
    waiting = [
        at for at, call in enumerate(calls) if at and at not in kept and call.worth_asking(POLICY)
    ]
    assert [later for wanted in found.values() for later in wanted] == waiting
    assert all(call < min(wanted) for call, wanted in found.items())
    assert list(found) == sorted(found)


@given(readings)
def test_all_come_in_time_where_the_first_call_needn_t_ask(calls: list[Reading]) -> None:
    found = asks(calls, POLICY)
    assume(0 not in found)
    starts_us = [0.0, *accumulate(call.us for call in calls)]
    there_us = 0.0
    for call, wanted in found.items():
        there_us = max(there_us, starts_us[call])
        for later in wanted:
            there_us += calls[later].weight_bytes / POLICY.bytes_a_us
            assert there_us <= starts_us[later] + 1e-6


@given(readings, st.integers(0, 2 * POLICY.most_bytes))
def test_what_is_kept_waits_and_is_no_more_than_allowed(calls: list[Reading], most: int) -> None:
    kept = keepers(calls, Policy(kept_bytes=most))
    assert sum(calls[call].weight_bytes for call in kept) <= most
    assert all(calls[call].worth_asking(POLICY) for call in kept)


def test_what_waits_longest_for_each_byte_is_kept() -> None:
    calls = [Reading(10, 1.0, 2.0), Reading(10, 1.0, 3.0), Reading(20, 1.0, 5.0)]
    assert keepers(calls, Policy(kept_bytes=15)) == {1}
    assert keepers(calls, Policy(kept_bytes=20)) == {0, 1}
    assert keepers(calls, Policy(kept_bytes=30)) == {1, 2}
    assert keepers(calls, Policy(kept_bytes=40)) == {0, 1, 2}
