"""`benanza witness`: runs models as their bounds say, and as they would say under other policies.
What isn't measured yet is measured first.
"""

from collections.abc import Iterator

from msgspec.structs import asdict

from benanza.installation.embedded import fill, filled_store, is_stored, opened_log
from benanza.looking.bound_program import program_of
from benanza.looking.stored_bound import StoredBound
from benanza.publishing.asked_models import asked_models
from benanza.publishing.fetched_once import FetchedOnce
from benanza.request import RunRequest
from benanza.results.bounds import FailedModel
from benanza.results.witness import ModelWitness, Witnesses
from benanza.running.pipeline import run
from benanza.running.progress import RunProgress
from benanza_analyzer.answers.calls import Cover
from benanza_analyzer.answers.policies import FASTEST, Policy
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.stored_events import stored_bound_id
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_ingest.limits import Limits, limits_of
from benanza_ingest.reading.source import Fetch
from benanza_runner.cuda.available import why_unavailable
from benanza_runner.runtime import RunResult, Runtime
from benanza_runner.runtimes import open_runtime
from benanza_schemas.events import BoundUpdated, ModelWitnessed, event_id


def witness(
    request: RunRequest, settings: Settings, progress: RunProgress, *, what_ifs: bool = False
) -> Witnesses:
    """Runs each model as its bound says, with fusion and under the accounting `full`; with
    `what_ifs` also as it would say under each other policy that makes a difference.

    A model that can't be run is among the results, with its `failure`; one without a bound is among
    the `errors`. Raises `BenanzaError` as `run` does, and where there is no GPU.
    """
    unavailable = why_unavailable()
    if unavailable:
        raise BenanzaError(f"witness {unavailable} (benanza bounds has the estimates)")
    fetch = FetchedOnce()
    lower_bounds = run(request, settings, progress, fetch)
    limits = limits_of(settings)
    contents = _contents(request, limits, lower_bounds.errors, fetch)
    witnesses = []
    with (
        open_runtime(request.runtime, settings) as runtime,
        opened_log(settings) as log,
        filled_store(settings, log, progress) as store,
    ):
        progress.stage("running models", len(lower_bounds.bounds))
        for bound in lower_bounds.bounds:
            stored = StoredBound.of(store, bound)
            content = contents[bound.model_id]
            of = stored_bound_id(store, bound.model_id, bound.system_id, bound.precision)
            for policy, cover in _covers(stored, what_ifs=what_ifs):
                run_result = _run_result(stored, content, policy, cover, runtime, limits)
                result = _result(bound, policy, cover, run_result)
                event = witnessed_event(
                    run_result, bound.model_id, bound, of, result.policy, result.predicted_us
                )
                log.append([as_message(event)])
                witnesses.append(result)
            progress.advance()
        if is_stored(settings):
            fill(store, log, progress)
    return Witnesses(witnesses=tuple(witnesses), errors=lower_bounds.errors)


def _contents(
    request: RunRequest, limits: Limits, errors: tuple[FailedModel, ...], fetch: Fetch
) -> dict[str, bytes]:
    """The files of the models that have a bound, by model id."""
    failed = {error.model for error in errors}
    return {
        asked.model_id: fetch(model, limits).content
        for model in request.models
        if model not in failed
        for asked in asked_models(model, request, limits, fetch)
    }


def _covers(stored: StoredBound, *, what_ifs: bool) -> Iterator[tuple[Policy, Cover]]:
    """The bound's own cover, and those under other policies that differ from all before."""
    known = []
    for policy in (FASTEST, *(stored.other_policies() if what_ifs else ())):
        cover = stored.cover(policy, fusion=policy.fusion)
        if cover not in known:
            known.append(cover)
            yield policy, cover


def _run_result(
    stored: StoredBound,
    content: bytes,
    policy: Policy,
    cover: Cover,
    runtime: Runtime,
    limits: Limits,
) -> RunResult:
    if cover.lacking:
        which = "its bound" if policy == FASTEST else f"its bound with {policy.name}"
        return RunResult(
            failure=f"{which} lacks {cover.lacking} layers, so it can't be run as a whole; "
            f"`benanza {'bounds` says why they are missing' if policy == FASTEST else 'what-if`'}"
        )
    program = program_of(stored.model, content, cover, stored.by_layer(policy), limits)
    return runtime.witness(program, stored.bound.precision)


def witnessed_event(
    run_result: RunResult,
    model_id: str,
    bound: ModelBound | BoundUpdated,
    bound_id: str,
    policy: str = "",
    predicted_us: float | None = None,
) -> ModelWitnessed:
    """What came of running a model as its bound of this id says; with a policy, as the bound would
    say under it.
    """
    time = now()
    figures = {name: value for name, value in asdict(run_result).items() if name != "slowed"}
    return ModelWitnessed(
        event_id=event_id("ModelWitnessed", bound_id, policy, time.isoformat()),
        model_id=model_id,
        system_id=bound.system_id,
        bound_id=bound_id,
        precision=bound.precision,
        batch=bound.batch,
        witnessed_at=time,
        policy=policy,
        predicted_us=predicted_us,
        **figures,
    )


def _result(bound: ModelBound, policy: Policy, cover: Cover, run_result: RunResult) -> ModelWitness:
    sequential, ahead, parallel = run_result.sequential, run_result.read_ahead, run_result.parallel
    is_what_if = policy != FASTEST
    return ModelWitness(
        model=bound.model,
        model_id=bound.model_id,
        batch=bound.batch,
        system=bound.system,
        system_id=bound.system_id,
        runtime=bound.runtime,
        precision=bound.precision,
        policy=policy.name if is_what_if else "",
        predicted_us=cover.sequential_us if is_what_if and not cover.lacking else None,
        sequential_bound_us=bound.sequential_us,
        parallel_bound_us=bound.parallel_us,
        attainable_us=bound.attainable_us,
        sequential_us=sequential.median_us if sequential else None,
        sequential_iqr_us=sequential.iqr_us if sequential else None,
        read_ahead_us=ahead.median_us if ahead else None,
        read_ahead_iqr_us=ahead.iqr_us if ahead else None,
        parallel_us=parallel.median_us if parallel else None,
        parallel_iqr_us=parallel.iqr_us if parallel else None,
        calls=run_result.calls,
        layout_changes=run_result.layout_changes,
        error=run_result.error,
        allowed_error=run_result.allowed_error,
        unchecked=run_result.unchecked,
        failure=run_result.failure,
    )
