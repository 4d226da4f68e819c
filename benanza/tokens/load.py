"""Requests for tokens at random times, and what a run of them comes to."""

import math
from collections.abc import Iterable
from random import Random

from benanza.tokens.continuous import Asked, Continuous, Room
from benanza_backbone.document import Document

REQUESTS = 2_000
"""So many are simulated: 20 of them are above the 99th percentile."""

MICROSECONDS = 1e6


class TokenLoad(Document, frozen=True, kw_only=True):
    """Requests that come as a Poisson process at a rate a second, each of a prompt and an output of
    lengths that are equally likely between the least and the most. So many sequences run at once at
    most, by default as many as steps have bounds for; the cache has `cache_tokens` for all of them,
    by default enough.
    """

    rate_per_s: float
    prompt_tokens: tuple[int, int] = (512, 512)
    output_tokens: tuple[int, int] = (128, 128)
    sequences: int | None = None
    cache_tokens: int | None = None

    @property
    def longest(self) -> int:
        """The most tokens that are set aside for a request in the cache."""
        return self.prompt_tokens[1] + self.output_tokens[1]

    def longest_past(self, *, with_prompts: bool) -> int:
        """The most tokens that a step has behind it. Who reads a prompt gives its first token, too;
        the last token of an output is in no cache.
        """
        return self.longest - 1 - with_prompts


class TokenPercentiles(Document, frozen=True, kw_only=True):
    """Of times of requests, in microseconds."""

    p50_us: float
    p90_us: float
    p99_us: float


class LoadedTokens(Document, frozen=True, kw_only=True):
    """What a run of requests came to.

    `time_to_first_token` begins as a request comes, `queueing` is the part of it before its prompt
    is read; `time_per_token` is that between a request's first token and its last, for each token
    after the first. `tokens_per_s` and `answered_per_s` are of all requests, from the first one's
    coming to the last one's end: less than they are asked for at, if they aren't kept up with.
    `sequences` run on average while anything runs, and for `busy`, a share, something does.
    """

    requests: int
    answered_per_s: float
    tokens_per_s: float
    time_to_first_token: TokenPercentiles
    time_per_token: TokenPercentiles | None
    queueing: TokenPercentiles
    sequences: float
    busy: float


def arrivals(load: TokenLoad, requests: int = REQUESTS, seed: int = 0) -> list[Asked]:
    """Requests by this load, the same for the same seed: so many within the time in which they come
    on average, as those of a Poisson process are spread then.
    """
    random = Random(seed)
    span_us = MICROSECONDS * requests / load.rate_per_s
    times = sorted(random.uniform(0, span_us) for _ in range(requests))
    return [
        Asked(at_us, random.randint(*load.prompt_tokens), random.randint(*load.output_tokens))
        for at_us in times
    ]


def room(load: TokenLoad, sequences: int) -> Room:
    """What the load leaves to so many sequences."""
    return Room(sequences, math.inf if load.cache_tokens is None else load.cache_tokens)


def figures(run: Continuous) -> LoadedTokens:
    """What a run came to."""
    answers = run.answers
    span_s = (max(each.ended_us for each in answers) - answers[0].asked.at_us) / MICROSECONDS
    busy_us = sum(step.us for step in run.steps)
    running_us = sum(each.ended_us - each.started_us for each in answers)
    later = [
        (each.ended_us - each.first_us) / (each.asked.output - 1)
        for each in answers
        if each.asked.output > 1
    ]
    return LoadedTokens(
        requests=len(answers),
        answered_per_s=len(answers) / span_s,
        tokens_per_s=sum(each.asked.output for each in answers) / span_s,
        time_to_first_token=_percentiles(each.first_us - each.asked.at_us for each in answers),
        time_per_token=_percentiles(later) if later else None,
        queueing=_percentiles(each.started_us - each.asked.at_us for each in answers),
        sequences=running_us / busy_us,
        busy=busy_us / MICROSECONDS / span_s,
    )


def _percentiles(times_us: Iterable[float]) -> TokenPercentiles:
    """Of these times, each one that a request has, as LoadGen says them."""
    ordered = sorted(times_us)
    p50, p90, p99 = (ordered[int(len(ordered) * share)] for share in (0.5, 0.9, 0.99))
    return TokenPercentiles(p50_us=p50, p90_us=p90, p99_us=p99)
