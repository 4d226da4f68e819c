"""How many calls."""

from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.measuring.batch import calls_for


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
