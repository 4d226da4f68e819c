"""The search for a server's greatest rate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza.evaluating.results import Tried
from benanza.evaluating.server.rate import STEPS, WHOLE_STEPS, confirmed_rate, greatest_rate

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


@given(st.floats(0, 1_000), st.floats(0.5, 100.0))
def test_while_none_is_valid_it_goes_on_to_the_least(most: float, least: float) -> None:
    found, tried = greatest_rate(
        lambda rate: Tried(rate_per_s=rate, p99_us=1.0, valid=rate <= most),
        CAPACITY,
        least_per_s=least,
    )
    assert found == max((each.rate_per_s for each in tried if each.valid), default=0.0)
    assert found or most < max(CAPACITY / 2**STEPS, 2 * least)
    if 0 < found < CAPACITY / 2**STEPS:
        assert found <= most <= found * (1 + 1 / 2**WHOLE_STEPS)
    rates = [each.rate_per_s for each in tried]
    assert len(rates) == len(set(rates))
    assert min(rates) >= min(CAPACITY / 2**STEPS, least)


@given(st.floats(1.0, 10_000.0), st.floats(0.0, 1.1))
def test_what_a_longer_run_refuses_is_looked_for_below(found: float, share: float) -> None:
    most = share * found
    confirmed, tried = confirmed_rate(
        lambda rate: Tried(rate_per_s=rate, p99_us=1.0, valid=rate <= most), found
    )
    assert min(most, found) - found / 2**WHOLE_STEPS <= confirmed <= most
    assert all(each.rate_per_s >= found / 2**WHOLE_STEPS for each in tried)
    assert len(tried) == (1 if most >= found else 1 + WHOLE_STEPS)


def test_where_no_rate_was_found_none_is_confirmed() -> None:
    assert confirmed_rate(lambda _: pytest.fail("it is tried"), 0.0) == (0.0, [])
