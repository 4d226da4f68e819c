"""What limits the step of a small decoder on this CPU."""

import pytest

from benanza.tokens.known import known_generation
from benanza_backbone.settings import Settings
from tests.benanza.tokens.small_step import swept_step

pytestmark = pytest.mark.integration

SHORT, LONG = 64, 16_384


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Where a step has bounds behind a short past and a long one."""
    settings, found = swept_step(tmp_path_factory.mktemp("limits"), (4,), (SHORT, LONG))
    assert found.errors == ()
    assert found.layers.models == 2
    assert found.layers.of_one_model == 2 * 4
    return settings


def test_a_long_past_is_limited_by_what_is_kept(swept: Settings) -> None:
    points = known_generation(swept, None, "step", ["fp32"], {}, None).points
    shares = {
        point.step.dims["past_sequence_length"]: {each.limit: each.share for each in point.limits}
        for point in points
    }
    kept = {past: of.get("cache", 0.0) for past, of in shares.items()}
    assert kept[LONG] > 0.5
    assert kept[LONG] > kept[SHORT]
    assert shares[SHORT]["weights"] > shares[LONG].get("weights", 0.0)


def test_without_a_power_no_energy_is_said(swept: Settings) -> None:
    """Nothing says how much power this CPU takes."""
    for point in known_generation(swept, None, "step", ["fp32"], {}, None).points:
        assert [times.joules_per_token for times in point.times] == [None]
