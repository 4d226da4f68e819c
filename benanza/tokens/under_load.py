"""A decoder under a load of requests, predicted by the times of its swept steps and prompts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from benanza.tokens.continuous import serve
from benanza.tokens.generation import (
    Generation,
    GenerationPoint,
    GenerationUnderLoad,
    Source,
)
from benanza.tokens.known import known_generation
from benanza.tokens.load import TokenLoad, arrivals, figures, room
from benanza.tokens.swept import SweptTimes, UnsweptError
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_schemas.layer import Precision

OF_PAST = ("past",)
OF_PROMPT = ("sequence", "length", "token")
"""Parts of the names of dimensions that say how long the past, or a prompt, is."""

LEAST_RATE = 1e-6
"""Below so many requests a second, times of steps vanish in the time in which all come."""

TIMES: Mapping[Source, str] = {
    "bound": "bound",
    "attainable": "attainable estimate",
    "measured": "run by a framework that `benanza profile` stored",
}
"""What a source of times has."""

Sweep = dict[int, dict[int, float]]
"""Microseconds by the number of sequences and a length."""


def generation_under_load(
    settings: Settings,
    prompt: str | None,
    step: str,
    precisions: Sequence[Precision],
    dims: Mapping[str, int],
    price_per_hour: float | None,
    load: TokenLoad,
    system: str = "",
) -> Generation:
    """As `known_generation`, with what comes of the load on each system, at each precision, by each
    source of times; prompts have the times of the same. Without a prompt, prompts are read
    elsewhere.

    Raises `BenanzaError` also where no dimension says how long the past is, or the prompt.
    """
    steps = known_generation(settings, prompt, step, precisions, dims, price_per_hour, system)
    prompts = None
    if prompt is not None:
        prompts = known_generation(settings, None, prompt, precisions, {}, None, system).points
    found = tuple(_each(steps.points, prompts, load))
    return msgspec.structs.replace(steps, load=load, under_load=found)


def _each(
    steps: Sequence[GenerationPoint], prompts: Sequence[GenerationPoint] | None, load: TokenLoad
) -> Iterator[GenerationUnderLoad]:
    if load.cache_tokens is not None and load.longest > load.cache_tokens:
        raise BenanzaError(
            f"a request of up to {load.longest:,} tokens doesn't fit into a cache of "
            f"{load.cache_tokens:,}: give it more (--cache-tokens), or ask for shorter ones"
        )
    if load.rate_per_s < LEAST_RATE:
        raise BenanzaError(
            f"at {load.rate_per_s:g} requests a second each runs alone: ask for {LEAST_RATE:g} or "
            "more (--rate)"
        )
    of_steps = _swept(steps, OF_PAST)
    of_prompts = _swept(prompts or (), OF_PROMPT)
    first: dict[tuple[str, Precision], ModelBound] = {}
    for point in steps:
        first.setdefault((point.step.system_id, point.step.precision), point.step)
    for key, step_us in of_steps.items():
        system_id, precision, source = key
        sequences = load.sequences or max(step_us)
        found, failure = None, ""
        try:
            prompt_us = {} if prompts is None else _of_one(of_prompts.get(key), source)
            times = SweptTimes(step_us, prompt_us)
            past = load.longest_past(with_prompts=prompts is not None)
            times.check(sequences, load.prompt_tokens[1], past)
            found = figures(serve(arrivals(load), times, room(load, sequences)))
        except UnsweptError as error:
            failure = str(error)
        yield GenerationUnderLoad(
            step=first[system_id, precision],
            source=source,
            sequences=sequences,
            found=found,
            failure=failure,
        )


def _of_one(sweep: Sweep | None, source: Source) -> Mapping[int, float]:
    """Times of one prompt from this source, by its length."""
    if not sweep or 1 not in sweep:
        raise UnsweptError(
            f"the prompt has no {TIMES[source]} at batch size 1 on the same system at the same "
            "precision"
        )
    return sweep[1]


def _swept(
    points: Iterable[GenerationPoint], named: Sequence[str]
) -> dict[tuple[str, Precision, Source], Sweep]:
    """The times of each system, precision and source, at the points that it has: of several at
    one, the first.
    """
    found: dict[tuple[str, Precision, Source], Sweep] = defaultdict(lambda: defaultdict(dict))
    for point in points:
        length = length_named(point.step.dims, named, point.step.model)
        for times in point.times:
            if times.time_per_token_us is not None:
                key = point.step.system_id, point.step.precision, times.source
                found[key][point.step.batch].setdefault(length, times.time_per_token_us)
    return {
        key: {batch: dict(each) for batch, each in sweep.items()} for key, sweep in found.items()
    }


def length_named(dims: Mapping[str, int], named: Sequence[str], model: str) -> int:
    """The size of the dimension that says how long the past is, or the prompt, which may have a
    past of its own. Raises `BenanzaError` if there is none.
    """
    others = () if named == OF_PAST else OF_PAST
    for part in named:
        for name, size in dims.items():
            if part in name.lower() and not any(other in name.lower() for other in others):
                return size
    raise BenanzaError(
        f"no dimension of {model} is named after {' or '.join(named)}, so nothing says how long it "
        "is: export it with named dimensions, and sweep them with `benanza run --dim`"
    )
