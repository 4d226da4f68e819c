"""What agents are not asked for."""

import pytest

from benanza.agents.request import check_duration
from benanza.evaluating.request import EvaluationRequest, Scenario
from benanza_backbone.errors import BenanzaError


@pytest.mark.parametrize(
    ("scenario", "rate_per_s", "longest_s", "mend"),
    [
        ("server", None, 100.0, "give a shorter --duration, or a --rate"),
        ("server", 5.0, 300.0, "give a shorter --duration"),
        ("offline", None, 300.0, "give a shorter --duration"),
    ],
)
def test_an_evaluation_has_to_end_within_a_turn_on_the_device(
    scenario: Scenario, rate_per_s: float | None, longest_s: float, mend: str
) -> None:
    def asked(duration_s: float) -> EvaluationRequest:
        return EvaluationRequest(
            model="m", scenario=scenario, rate_per_s=rate_per_s, duration_s=duration_s
        )

    check_duration(asked(longest_s))
    with pytest.raises(BenanzaError, match=f"{longest_s:g} s at most") as refused:
        check_duration(asked(longest_s + 1))
    assert str(refused.value).endswith(mend)
