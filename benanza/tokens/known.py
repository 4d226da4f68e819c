"""`benanza generation`: what a decoder's tokens take, from bounds of its prompt and its step."""

from collections.abc import Iterable, Mapping, Sequence

from benanza.installation.configured import known_store
from benanza.looking.bounds import matching_bounds
from benanza.looking.model_ids import StoredFile, files_of, model_ids
from benanza.looking.stored_bound import StoredBound
from benanza.profiling.beside_bound import profiles_of
from benanza.request import BoundPolicy
from benanza.results.profile import ModelProfile
from benanza.tokens.generation import (
    Generation,
    GenerationPoint,
    GenerationTimes,
    Source,
)
from benanza.tokens.limits import StepCalls
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.layer import Precision

SECONDS_AN_HOUR = 3600
MILLION = 1e6

DIGITS_SHOWN = 12
"""Of a SHA-256, by which a file can be named."""


def known_generation(
    settings: Settings,
    prompt: str | None,
    step: str,
    precisions: Sequence[Precision],
    dims: Mapping[str, int],
    price_per_hour: float | None,
    system: str = "",
) -> Generation:
    """The points at which the model `step` has whole bounds whose named dimensions include `dims`,
    each beside the bound of `prompt` for as many sequences. Nothing is benchmarked.

    A step gives each sequence of its batch one token. Where the prompt has several bounds for as
    many sequences, the first counts: that of the shortest, if their lengths are all that differs.
    Raises `BenanzaError` for a model that has no bound, and for a name of several files.
    """
    policy = BoundPolicy(tuple(precisions), system=system)
    with known_store(settings) as store:

        def known(model: str, dims: Mapping[str, int]) -> list[ModelBound]:
            bounds = store.bounds(model_ids(store, [model], limits_of(settings)))
            _of_one_file(model, files_of(store), bounds)
            return matching_bounds(bounds, policy, dims)

        def whole(bounds: Iterable[ModelBound]) -> list[StoredBound]:
            return [StoredBound.of(store, bound) for bound in bounds if not bound.partial]

        of_prompt = [] if prompt is None else known(prompt, {})
        of_step = known(step, dims)
        bounds = [*of_step, *of_prompt]
        ids = list(dict.fromkeys(bound.model_id for bound in bounds))
        profiles = profiles_of(store, ids, bounds)
        prompts = whole(of_prompt)
        steps = [(one, StepCalls(store, one)) for one in whole(of_step)]
    points = []
    for one, calls in steps:
        beside = _for_as_many(one.bound, prompts)
        points.append(
            GenerationPoint(
                step=one.bound,
                prompt=beside and beside.bound,
                times=_times(one, beside, profiles, price_per_hour, calls.joules()),
                kinds=calls.kinds(),
                limits=calls.limits(),
            )
        )
    partial = tuple(bound for bound in bounds if bound.partial)
    return Generation(points=tuple(points), partial=partial, price_per_hour=price_per_hour)


def _of_one_file(model: str, files: Mapping[str, StoredFile], bounds: Iterable[ModelBound]) -> None:
    """Raises `BenanzaError` if several files have the name: their sizes make no sweep together."""
    digests = sorted({files[bound.model_id].sha256 for bound in bounds})
    if len(digests) > 1:
        named = " or ".join(digest[:DIGITS_SHOWN] for digest in digests)
        raise BenanzaError(
            f"{len(digests)} files have the name {model}: name one by its SHA-256 ({named})"
        )


def _for_as_many(step: ModelBound, prompts: Iterable[StoredBound]) -> StoredBound | None:
    """The prompt's bound for as many sequences on the same system, at the same precision."""
    wanted = step.batch, step.system_id, step.precision
    for prompt in prompts:
        if (prompt.bound.batch, prompt.bound.system_id, prompt.bound.precision) == wanted:
            return prompt
    return None


def _times(
    stored: StoredBound,
    prompt: StoredBound | None,
    profiles: Sequence[ModelProfile],
    price_per_hour: float | None,
    joules: float | None,
) -> tuple[GenerationTimes, ...]:
    """By each source. `joules` are those of the bound of the step."""
    step = stored.bound

    def from_source(source: Source, first: float | None, each: float | None) -> GenerationTimes:
        rate = step.batch * MILLION / each if each else None
        cost = None
        if rate and price_per_hour is not None:
            cost = price_per_hour / SECONDS_AN_HOUR / rate * MILLION
        return GenerationTimes(
            source=source,
            time_to_first_token_us=first,
            time_per_token_us=each,
            tokens_per_s=rate,
            cost_per_million=cost,
            joules_per_token=joules / step.batch if joules and source == "bound" else None,
        )

    first: tuple[float | None, float | None] = (None, None)
    if prompt is not None:
        first = (prompt.bound.sequential_us, prompt.bound.attainable_us)
    times = [from_source("bound", first[0], step.sequential_us)]
    if step.attainable_us is not None:
        times.append(from_source("attainable", first[1], step.attainable_us))
    if (measured_us := _fastest_run_us(stored, profiles)) is not None:
        times.append(from_source("measured", _fastest_run_us(prompt, profiles), measured_us))
    return tuple(times)


def _fastest_run_us(stored: StoredBound | None, profiles: Iterable[ModelProfile]) -> float | None:
    beside = (p.us for p in profiles if stored is not None and stored.is_beside(p))
    return min((us for us in beside if us is not None), default=None)
