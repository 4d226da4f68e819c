"""Which weights persist, and when the others are prefetched."""

from itertools import accumulate

from hypothesis import assume, given
from hypothesis import strategies as st

from benanza_runner.cuda.whole_model.prefetch_plan import (
    CallWeights,
    PrefetchPolicy,
    persistent_calls,
    prefetches,
)

POLICY = PrefetchPolicy(batch_bytes=1_000_000, bytes_per_us=400_000)
US = round(POLICY.bytes_per_us)
"""The bytes that come in a microsecond."""

weights = st.lists(
    st.builds(
        CallWeights,
        st.sampled_from(
            [0, 1000, POLICY.batch_bytes // 2, POLICY.batch_bytes, 9 * US, POLICY.most_bytes + 1]
        ),
        st.floats(0.5, 60.0),
        st.sampled_from([0.0, POLICY.least_wait_us, 9.0]),
    ),
    max_size=30,
)


def test_weights_are_prefetched_as_late_as_they_come_in_time() -> None:
    short, long, reader = (
        CallWeights(0, 3.0, 0.0),
        CallWeights(0, 20.0, 0.0),
        CallWeights(9 * US, 5.0, 9.0),
    )
    assert prefetches([long, long, reader], POLICY) == {1: [2]}
    assert prefetches([long, short, reader], POLICY) == {0: [2]}
    assert prefetches([short, short, reader], POLICY) == {0: [2]}


def test_those_prefetched_before_others_come_before_them() -> None:
    long, reader = CallWeights(0, 11.0, 0.0), CallWeights(9 * US, 1.0, 9.0)
    assert prefetches([long, long, reader, reader], POLICY) == {0: [2], 1: [3]}


def test_few_bytes_join_the_batch_before_them() -> None:
    little, much = CallWeights(POLICY.batch_bytes // 3, 5.0, 2.0), CallWeights(9 * US, 30.0, 9.0)
    assert prefetches([much, little, little, little, little, much], POLICY) == {
        0: [1, 2, 3],
        3: [4, 5],
    }


def test_weights_that_no_call_waits_for_are_not_prefetched() -> None:
    assert (
        prefetches(
            [CallWeights(0, 5.0, 0.0), CallWeights(9, 5.0, POLICY.least_wait_us / 2)], POLICY
        )
        == {}
    )
    assert (
        prefetches([CallWeights(0, 5.0, 0.0), CallWeights(POLICY.most_bytes + 1, 5.0, 9.0)], POLICY)
        == {}
    )
    assert prefetches([], POLICY) == {}


@given(weights, st.frozensets(st.integers(0, 30)))
def test_weights_of_a_call_that_waits_are_prefetched_once_and_before_it(
    calls: list[CallWeights], persistent: frozenset[int]
) -> None:
    found = prefetches(calls, POLICY, persistent)
    waiting = [
        at
        for at, call in enumerate(calls)
        if at and at not in persistent and call.worth_prefetching(POLICY)
    ]
    assert [later for wanted in found.values() for later in wanted] == waiting
    assert all(call < min(wanted) for call, wanted in found.items())
    assert list(found) == sorted(found)


@given(weights)
def test_all_come_in_time_where_the_first_call_starts_no_prefetch(calls: list[CallWeights]) -> None:
    found = prefetches(calls, POLICY)
    assume(0 not in found)
    starts_us = [0.0, *accumulate(call.us for call in calls)]
    there_us = 0.0
    for call, wanted in found.items():
        there_us = max(there_us, starts_us[call])
        for later in wanted:
            there_us += calls[later].weight_bytes / POLICY.bytes_per_us
            assert there_us <= starts_us[later] + 1e-6


@given(weights, st.integers(0, 2 * POLICY.most_bytes))
def test_persistent_weights_are_waited_for_and_no_more_than_allowed(
    calls: list[CallWeights], most: int
) -> None:
    persistent = persistent_calls(calls, PrefetchPolicy(persistent_bytes=most))
    assert sum(calls[call].weight_bytes for call in persistent) <= most
    assert all(calls[call].worth_prefetching(POLICY) for call in persistent)


def test_weights_that_save_most_for_each_byte_are_persistent() -> None:
    calls = [CallWeights(10, 1.0, 2.0), CallWeights(10, 1.0, 3.0), CallWeights(20, 1.0, 5.0)]
    assert persistent_calls(calls, PrefetchPolicy(persistent_bytes=15)) == {1}
    assert persistent_calls(calls, PrefetchPolicy(persistent_bytes=20)) == {0, 1}
    assert persistent_calls(calls, PrefetchPolicy(persistent_bytes=30)) == {1, 2}
    assert persistent_calls(calls, PrefetchPolicy(persistent_bytes=40)) == {0, 1, 2}
