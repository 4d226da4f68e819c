"""What limits the step of a small decoder on this CPU."""

import io
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from rich.console import Console

from benanza.render.answers.generation import print_generation
from benanza.tokens.continuous import Asked, Room, serve
from benanza.tokens.generation import Limit
from benanza.tokens.known import known_generation
from benanza.tokens.limits import limit_of
from benanza.tokens.load import TokenLoad
from benanza.tokens.swept import SweptTimes
from benanza.tokens.under_load import generation_under_load
from benanza_analyzer.answers.calls import Call
from benanza_analyzer.limits.ceilings import PlatformCeilings
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from tests.benanza.conftest import FirstRun
from tests.benanza.tokens.small_step import swept_step

pytestmark = pytest.mark.integration

SHORT, LONG = 64, 16_384


CEILINGS = PlatformCeilings(bandwidth=1e12, flops=1e14)
"""A megabyte takes one microsecond, and so do a hundred megaflops."""


@pytest.mark.parametrize(
    ("us", "megabytes", "constant", "megaflops", "attends", "limit"),
    [
        (30.0, 20.0, 19.0, 100.0, False, "weights"),
        (30.0, 20.0, 1.0, 100.0, False, "other values"),
        (30.0, 20.0, 19.0, 4_000.0, False, "arithmetic"),
        (30.0, 20.0, 900.0, 100.0, False, "weights"),  # of a table a part is read
        (30.0, 20.0, 0.0, 100.0, True, "cache"),
        (30.0, 20.0, 900.0, 100.0, True, "cache"),  # rotations of all positions
        (3.0, 0.1, 0.1, 1.0, False, "launches"),
        (3.0, 2.0, 2.0, 1.0, False, "weights"),  # short, and as fast as it can be read
        (30.0, 0.1, 0.1, 1.0, False, "weights"),  # a slow kernel is not a launch
        (3.0, 0.1, 0.0, 1.0, True, "launches"),
    ],
)
def test_a_call_is_limited_by_what_takes_longest(
    us: float, megabytes: float, constant: float, megaflops: float, *, attends: bool, limit: Limit
) -> None:
    moved, operations = megabytes * 1e6, int(megaflops * 1e6)
    call = Call((0,), "", us, 0.0, 0.0, operations, moved, critical=True)
    found = limit_of(call, CEILINGS, 2.0, constants=constant * 1e6, attends=attends)
    assert found == limit


def test_what_the_cache_does_not_hold_comes_from_the_memory() -> None:
    """Forty megabytes take 40 µs from the cache; thirty of them 60 from the memory."""
    ceilings = CEILINGS._replace(memory=5e11, cache_bytes=1e7)
    call = Call((0,), "", 90.0, 0.0, 0.0, int(5e9), 4e7, critical=True)
    assert limit_of(call, CEILINGS, 2.0, constants=4e7, attends=False) == "arithmetic"
    assert limit_of(call, ceilings, 2.0, constants=4e7, attends=False) == "weights"


def test_the_last_step_of_a_request_has_all_but_its_last_token_behind_it() -> None:
    load = TokenLoad(rate_per_s=1.0, prompt_tokens=(64, 512), output_tokens=(2, 512))
    assert load.longest_past(with_prompts=False) == 1023
    assert load.longest_past(with_prompts=True) == 1022
    asked = [Asked(0.0, 512, 512)]
    for prompts, past in (({512: 5.0}, 1022), ({}, 1023)):
        seen: list[int] = []

        class Times(SweptTimes):
            def step_us(self, pasts: Sequence[int], seen: list[int] = seen) -> float:
                seen += pasts
                return super().step_us(pasts)

        serve(asked, Times({1: {1023: 1.0}}, prompts), Room(1))
        assert max(seen) == past


@pytest.fixture(scope="module")
def swept(first_run: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Where a step has bounds behind a short past and a long one."""
    settings, found = swept_step(
        first_run[0], tmp_path_factory.mktemp("limits"), (4,), (SHORT, LONG)
    )
    assert found.errors == ()
    assert found.layers.models == 2
    assert found.layers.of_one_model == 2 * 4
    return settings


def test_a_long_past_leaves_less_to_weights(swept: Settings) -> None:
    """Whether attention is limited by what is kept or by arithmetic, the CPU decides."""
    points = known_generation(swept, None, "step", ["fp32"], {}, None).points
    shares = {
        point.step.dims["past_sequence_length"]: {each.limit: each.share for each in point.limits}
        for point in points
    }
    assert shares.keys() == {SHORT, LONG}
    for of_point in shares.values():
        assert sum(of_point.values()) == pytest.approx(1)
    assert shares[LONG].get("cache", 0.0) + shares[LONG].get("arithmetic", 0.0) > 0.5
    assert shares[LONG].get("weights", 0.0) < 0.5


def test_without_a_power_no_energy_is_said(swept: Settings) -> None:
    """Nothing says how much power this CPU takes."""
    for point in known_generation(swept, None, "step", ["fp32"], {}, None).points:
        assert [times.joules_per_token for times in point.times] == [None]


def test_a_load_is_answered_by_the_times_that_were_swept(swept: Settings) -> None:
    load = TokenLoad(rate_per_s=20.0, prompt_tokens=(64, 512), output_tokens=(2, 8))
    known = generation_under_load(swept, None, "step", ["fp32"], {}, None, load)
    (found,) = known.under_load
    assert (found.source, found.sequences, found.failure) == ("bound", 4, "")
    assert found.found is not None
    assert found.found.time_per_token is not None
    shortest = min(point.times[0].time_per_token_us or 0.0 for point in known.points)
    assert found.found.time_per_token.p50_us >= 0.99 * shortest
    assert found.found.answered_per_s == pytest.approx(20.0, rel=0.05)
    longer = replace(load, output_tokens=(2, LONG))
    (beyond,) = generation_under_load(swept, None, "step", ["fp32"], {}, None, longer).under_load
    assert beyond.found is None
    assert "behind up to 16,384 tokens" in beyond.failure
    enough = replace(load, prompt_tokens=(64, LONG - 7), output_tokens=(2, 8))
    (fits,) = generation_under_load(swept, None, "step", ["fp32"], {}, None, enough).under_load
    assert fits.failure == ""
    small = replace(load, cache_tokens=500)
    with pytest.raises(BenanzaError, match="--cache-tokens"):
        generation_under_load(swept, None, "step", ["fp32"], {}, None, small)
    rare = replace(load, rate_per_s=1e-300)
    with pytest.raises(BenanzaError, match="--rate"):
        generation_under_load(swept, None, "step", ["fp32"], {}, None, rare)
    text = io.StringIO()
    print_generation(Console(file=text, width=200), known)
    assert "20 requests/s of 64 to 512 tokens for 2 to 8" in text.getvalue()
