"""Continuous batching: what always holds, by hand, and queueing theory."""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benanza.tokens.continuous import Asked, Continuous, Room, serve
from benanza.tokens.load import TokenLoad, arrivals, figures
from benanza.tokens.swept import SweptTimes, UnsweptError


class Times:
    """A prompt takes a microsecond a token, a step as many as it has sequences, and ten."""

    def __init__(self, *, elsewhere: bool = False) -> None:
        self._elsewhere = elsewhere

    def prompt_us(self, tokens: int) -> float | None:
        return None if self._elsewhere else float(tokens)

    def step_us(self, pasts: Sequence[int]) -> float:
        return 10.0 + len(pasts) + sum(pasts) / 1e3


REQUESTS = st.lists(
    st.tuples(st.floats(0, 500), st.integers(1, 50), st.integers(1, 20)), min_size=1, max_size=40
)


@settings(max_examples=50)
@given(REQUESTS, st.integers(1, 8), st.integers(70, 300), st.booleans())
def test_no_token_is_lost_and_nothing_is_out_of_turn(
    gaps: list[tuple[float, int, int]], sequences: int, cache: int, elsewhere: bool
) -> None:
    at_us, requests = 0.0, []
    for gap, prompt, output in gaps:
        at_us += gap
        requests.append(Asked(at_us, prompt, output))
    run = serve(requests, Times(elsewhere=elsewhere), Room(sequences, cache))
    # No request is lost, and each begins and ends in its order of events.
    assert [each.asked for each in run.answers] == requests
    for each in run.answers:
        assert each.asked.at_us <= each.started_us <= each.first_us <= each.ended_us
    starts = [each.started_us for each in run.answers]
    assert starts == sorted(starts)
    # Tokens: a prompt gives one, a step one to each of its sequences.
    prompts = 0 if elsewhere else len(requests)
    assert sum(step.sequences for step in run.steps) == sum(each.output for each in requests)
    assert sum(step.is_prompt for step in run.steps) == prompts
    # One thing at a time, and never more than there is room for.
    for one, other in pairwise(run.steps):
        assert one.at_us + one.us <= other.at_us * (1 + 1e-12)
    for step in run.steps:
        inside = [
            each for each in run.answers if each.started_us <= step.at_us < each.ended_us - 1e-9
        ]
        assert len(inside) <= sequences
        assert sum(each.asked.kept for each in inside) <= cache
    # Something runs whenever a request is there: from its coming to its end no gap is idle.
    for one, other in pairwise(run.steps):
        idle = one.at_us + one.us, other.at_us
        if idle[1] - idle[0] > 1e-6:
            assert not any(
                each.asked.at_us < idle[1] - 1e-6 and each.ended_us > idle[0] + 1e-6
                for each in run.answers
            )


def test_by_hand() -> None:
    requests = [Asked(0.0, 5, 2), Asked(1.0, 3, 1), Asked(40.0, 4, 3)]
    run = serve(requests, Times(), Room(2))
    # 0-5 the first prompt, 5-8 the second, which ends; 8-19.005 a step. The third: its prompt
    # 40-44, and two steps behind 4 and 5 tokens.
    first, second, third = run.answers
    assert [first.first_us, first.ended_us] == pytest.approx([5.0, 19.005])
    assert (second.started_us, second.ended_us) == (5.0, 8.0)
    assert [third.first_us, third.ended_us] == pytest.approx([44.0, 44.0 + 11.004 + 11.005])


def test_little_and_a_queue_of_one() -> None:
    """Little: as many are there on average as come in the time that one stays. With one sequence
    at a time, Pollaczek and Khinchine: at load r a constant service S waits rS / 2(1 - r).
    """
    load = TokenLoad(rate_per_s=7_000.0, prompt_tokens=(100, 100), output_tokens=(1, 1))
    run = serve(arrivals(load, 8_000), Times(), Room(1))
    waits = [each.started_us - each.asked.at_us for each in run.answers]
    assert fmean(waits) == pytest.approx(0.7 * 100 / (2 * 0.3), rel=0.1)
    found = figures(run)
    assert found.busy == pytest.approx(0.7, rel=0.03)
    assert found.sequences == pytest.approx(1.0)
    assert _there_on_average(run) == pytest.approx(
        1e-6 * found.answered_per_s * (fmean(waits) + 100), rel=1e-6
    )


def _there_on_average(run: Continuous) -> float:
    """By counting who is there at each coming and going."""
    changes = [(each.asked.at_us, 1) for each in run.answers]
    changes += [(each.ended_us, -1) for each in run.answers]
    changes.sort()
    there, area = 0, 0.0
    for (at_us, change), (next_us, _) in pairwise(changes):
        there += change
        area += there * (next_us - at_us)
    return area / (changes[-1][0] - changes[0][0])


def test_what_never_fits_is_refused() -> None:
    for asked in (Asked(0.0, 90, 11), Asked(0.0, 1, 0)):
        with pytest.raises(ValueError, match="never fits"):
            serve([asked], Times(), Room(4, 100))


def test_times_between_those_that_were_swept() -> None:
    times = SweptTimes({1: {100: 10.0, 200: 20.0}, 3: {100: 30.0}}, {64: 5.0, 128: 9.0})
    assert times.step_us([150]) == 15.0
    assert times.step_us([100, 100]) == 20.0
    assert times.step_us([50]) == 10.0  # as the shortest
    assert times.prompt_us(96) == 7.0
    assert SweptTimes({1: {1: 1.0}}, {}).prompt_us(7) is None
    times.check(1, 128, 200)
    for beyond in ((4, 1, 1), (2, 1, 101), (1, 129, 150), (1, 1, 201)):
        with pytest.raises(UnsweptError, match="sweep"):
            times.check(*beyond)


def test_more_requests_than_can_be_answered_wait() -> None:
    load = TokenLoad(rate_per_s=3_000.0, prompt_tokens=(64, 512), output_tokens=(32, 96))
    found = figures(serve(arrivals(load, 300), Times(), Room(4)))
    assert found.answered_per_s < 2_500.0
    assert found.queueing.p99_us > found.queueing.p50_us > 0.0
    assert found.time_per_token is not None
    assert found.time_per_token.p50_us >= 14.0
    assert math.isclose(found.busy, 1.0, rel_tol=0.01)
