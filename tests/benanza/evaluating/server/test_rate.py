"""The search for a server's greatest rate."""

from hypothesis import given
from hypothesis import strategies as st

from benanza.evaluating.results import Tried
from benanza.evaluating.server.rate import STEPS, greatest_rate, lower_rates

CAPACITY = 640.0


@given(st.floats(0, 1_000))
def test_it_finds_the_greatest_rate_to_a_step(most: float) -> None:
    found, tried = greatest_rate(
        lambda rate: Tried(rate_per_s=rate, p99_us=1.0, valid=rate <= most), CAPACITY
    )
    step = CAPACITY / 2**STEPS
    assert min(most, CAPACITY) - step <= found <= most
    assert len(tried) == STEPS
    assert found == max((each.rate_per_s for each in tried if each.valid), default=0.0)


def test_what_a_longer_run_refuses_is_tried_lower_in_growing_steps() -> None:
    assert lower_rates(320.0, CAPACITY) == [320.0, 310.0, 290.0, 250.0, 170.0, 10.0]
    assert lower_rates(30.0, CAPACITY) == [30.0, 20.0]
    assert lower_rates(0.0, CAPACITY) == []
