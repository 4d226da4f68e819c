"""How many calls and how many copies."""

from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.measuring.batch import CACHES, calls_for, copies_for


@given(st.floats(0.1, 1e6), st.floats(1, 1e5), st.integers(1, 5_000))
def test_calls_fill_the_replay_or_reach_the_limit(
    call_us: float, replay_us: float, most: int
) -> None:
    calls = calls_for(call_us, replay_us, most)
    assert 1 <= calls <= most
    assert calls == most or calls * call_us >= replay_us
    assert calls == 1 or (calls - 1) * call_us < replay_us


def test_what_takes_no_time_is_called_as_often_as_may_be() -> None:
    assert calls_for(0.0, 100.0, 7) == 7


@given(st.integers(1, 10**10), st.integers(1, 10**8), st.integers(0, 10**12))
def test_copies_outgrow_the_cache_or_there_are_none(
    buffer_bytes: int, cache_bytes: int, free_bytes: int
) -> None:
    copies = copies_for(buffer_bytes, cache_bytes, free_bytes)
    if copies is None:
        least = max(2 * buffer_bytes, CACHES * cache_bytes)
        assert least > free_bytes // 2 - buffer_bytes
    else:
        assert copies >= 2
        assert CACHES * cache_bytes <= copies * buffer_bytes <= free_bytes // 2


def test_a_layer_without_buffers_has_no_cold_timing() -> None:
    assert copies_for(0, 1, 1_000) is None
