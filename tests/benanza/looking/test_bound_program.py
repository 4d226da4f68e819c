"""A model's bound as a program: what is known of the variants that it runs."""

import math

import pytest

from benanza.looking.bound_program import _choice
from benanza_analyzer.measurements import Best
from benanza_schemas.program import Choice
from tests.runner.fake_runtime import variant


@pytest.mark.parametrize(
    ("company_us", "cold_us", "us", "waits_us"),
    [
        (2.5, 6.0, 2.5, 3.5),
        (2.5, 2.0, 2.5, 0.0),  # noise
        (2.5, math.inf, 2.5, 0.0),
        (math.inf, 6.0, 2.0, 0.0),
        (math.inf, math.inf, 2.0, 0.0),
    ],
)
def test_a_call_waits_as_long_as_it_takes_more_with_weights_in_memory(
    company_us: float, cold_us: float, us: float, waits_us: float
) -> None:
    best = Best(2.0, 0.1, company_us, cold_us)
    assert _choice(best, variant(2.0)) == Choice("fake", "fake", "", us, waits_us)
