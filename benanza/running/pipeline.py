"""The embedded pipeline: every service in this process, over one event log.

Each stage is a step with an offset of its own, and the ids of its events follow from their causes.
So a run may be stopped at any point, and the next one goes on from there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from benanza.errors import about_model
from benanza.installation.embedded import analyze, drain, filled_store, opened_log
from benanza.publishing.asked_models import binding_of, published_models
from benanza.request import BoundPolicy, RunRequest
from benanza.results.bounds import FailedModel, LowerBounds
from benanza.running.again import ask_again, becomes_quiet
from benanza.running.counting import benchmarked_layers, count_layers
from benanza.running.progress import RunProgress, Silent
from benanza.running.stopwatch import Stopwatch
from benanza_analyzer.step import analyzer_step
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog, Record
from benanza_backbone.event_log.readable import events_of, readable
from benanza_backbone.event_log.standing import standing_checkpoints
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_dedupe.step import dedupe_step
from benanza_ingest.core import is_current
from benanza_ingest.limits import Limits, limits_of
from benanza_ingest.published import ingest_published
from benanza_ingest.reading.source import Fetch, fetch
from benanza_ingest.step import ingest_step
from benanza_runner.runtime import Runtime
from benanza_runner.runtimes import open_runtime
from benanza_runner.step import Benchmarks
from benanza_runner.system_description import describe_system, refuse_unmeasurable
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import (
    BenchmarkRequested,
    CheckpointIngested,
    DeadLetter,
    LayerUse,
    ModelIngested,
    ModelPublished,
)
from benanza_schemas.topics import DEAD_LETTERS, GRAPHS, JOBS, RESULTS

ROUNDS = 2
"""How often layers are timed again that were timed while the machine was busy."""


def run(
    request: RunRequest,
    settings: Settings,
    progress: RunProgress | None = None,
    fetch: Fetch = fetch,
    is_quiet: Callable[[], bool] = becomes_quiet,
) -> LowerBounds:
    """The lower bounds of the models asked for. Benchmarks those of their layers that have no time.

    Layers that were timed on a busy machine are timed again at the end of a precision if `is_quiet`
    says, perhaps after a while, that it is no longer.

    A model that can't be fetched, ingested or analyzed is among the `errors` of the result,
    and the others go on. Layers of other models in the folder are not benchmarked. `fetch` reads
    the models, a large one more than once. Raises `BenanzaError` if the data folder, the store or
    the runtime can't be used.
    """
    request.points()  # refuses what can't be bound before anything is done
    progress = progress or Silent()
    watch = Stopwatch()
    limits = limits_of(settings)
    with open_runtime(request.runtime, settings) as runtime, opened_log(settings) as log:
        results_before = log.end_offsets(RESULTS)
        with watch.stage("publish"):
            asked, errors = _publish(request, log, limits, progress, fetch)
        ingest = partial(ingest_published, fetch=fetch)
        with watch.stage("ingest"), ingest_step(log, limits, now, ingest) as step:
            progress.stage("ingesting models", step.waiting())
            while step.waiting():
                progress.advance(step.turn(limit=1))
        with watch.stage("dedupe"), dedupe_step(log, now) as step:
            drain(step)
        ingested = _ingested(log, asked)
        models = list(ingested.values())
        bounds: list[ModelBound] = []
        system_id = ""
        if models:
            if request.again:
                ask_again(log, models, runtime.system().system_id, request.policy.precisions)
            system_id = _benchmark(request, models, log, runtime, watch, progress, is_quiet)
            with watch.stage("store"), filled_store(settings, log, progress) as store:
                bounds = _bounds(request.policy, store, models, system_id)
        precisions = request.policy.precisions
        layers = count_layers(
            log, models, system_id, precisions, results_before, again=request.again
        )
        return LowerBounds(
            bounds=tuple(bounds),
            layers=layers,
            seconds=watch.seconds,
            errors=(*errors, *_without_bounds(log, asked, ingested, bounds)),
        )


def _publish(
    request: RunRequest, log: EventLog, limits: Limits, progress: RunProgress, fetch: Fetch
) -> tuple[dict[str, str], list[FailedModel]]:
    """Publishes the models that aren't ingested yet. Returns the events' ids, each with the name of
    the model asked for, and the models that can't be had."""
    asked: dict[str, str] = {}
    new: list[ModelPublished] = []
    errors: list[FailedModel] = []
    known = {checkpoint.published_id for checkpoint in _checkpoints(log)}
    progress.stage("fetching models", len(request.models))
    for model in request.models:
        try:
            fetched = fetch(model, limits)
            events = {
                published.event_id: published for published in published_models(fetched, request)
            }
            unknown = [events[key] for key in events if key not in known | asked.keys()]
            for publication in unknown:
                # Refuses a damaged file and a misspelt dimension here, where somebody looks.
                binding_of(publication, fetched.content, limits)
            asked |= dict.fromkeys(events, model)
            new += unknown
        except BenanzaError as error:
            errors.append(FailedModel(model=model, reason=about_model(model, str(error))))
        progress.advance()
    log.append([as_message(event) for event in new])
    return asked, errors


def _checkpoints(log: EventLog) -> Iterator[CheckpointIngested]:
    """All that this version of ingest has made."""
    return filter(is_current, standing_checkpoints(log))


def _ingested(log: EventLog, asked: Iterable[str]) -> dict[str, ModelIngested]:
    """What ingest found in the models that these events published, by the ids of the events, in
    that order. Its own event ids are those of the graphs, which other models may have brought.
    """
    wanted = set(asked)
    checkpoints = {c.published_id: c for c in _checkpoints(log) if c.published_id in wanted}
    keys = {known.architecture_id.encode() for known in checkpoints.values()}
    graphs = {graph.architecture_id: graph for graph in events_of(log, GRAPHS, ModelIngested, keys)}
    ingested = {}
    for key in asked:
        checkpoint = checkpoints.get(key)
        graph = graphs.get(checkpoint.architecture_id) if checkpoint else None
        if checkpoint and graph and len(checkpoint.layer_names) == len(graph.layers):
            ingested[key] = _of_checkpoint(graph, checkpoint)
    return ingested


def _of_checkpoint(graph: ModelIngested, checkpoint: CheckpointIngested) -> ModelIngested:
    """The architecture's graph as that of this model."""
    named = zip(graph.layers, checkpoint.layer_names, strict=True)
    return msgspec.structs.replace(
        graph,
        model_id=checkpoint.model_id,
        name=checkpoint.name,
        zoo=checkpoint.zoo,
        sha256=checkpoint.sha256,
        opset=checkpoint.opset,
        dims=checkpoint.dims,
        quantised=checkpoint.quantised,
        tensor_parallel=checkpoint.tensor_parallel,
        layers=tuple(LayerUse(use.summary, name) for use, name in named),
    )


def _benchmark(
    request: RunRequest,
    models: Sequence[ModelIngested],
    log: EventLog,
    runtime: Runtime,
    watch: Stopwatch,
    progress: RunProgress,
    is_quiet: Callable[[], bool],
) -> str:
    """Does the models' jobs, and updates the bounds after each. Returns the id of this system."""
    system_id = runtime.system().system_id

    def measuring() -> None:
        progress.stage("measuring what this system can reach", 1)
        if any(summary.least_flops for model in models for summary in model.summaries):
            refuse_unmeasurable(runtime, request.policy.precisions)

    with watch.stage("benchmark"):
        if describe_system(log, runtime, request.policy.precisions, now, measuring):
            progress.advance()
    with watch.stage("analyze"):
        analyzer = analyzer_step(log, now)
    with analyzer:
        for precision in request.policy.precisions:
            benchmarks = Benchmarks(log, runtime, precision, now)
            what = "benchmarking layers"
            with benchmarks.step() as runner:
                for left in reversed(range(1 + ROUNDS)):
                    jobs = _jobs(log, models, benchmarks)
                    progress.stage(f"{what}, {precision}", len(jobs))
                    benchmarks.expect(jobs)
                    for job in jobs:
                        with watch.stage("benchmark"):
                            runner.process(job)
                        with watch.stage("analyze"):
                            drain(analyzer)
                        progress.advance()
                    doubtful = benchmarks.doubtful()
                    if not left or not doubtful or not is_quiet():
                        break
                    log.append([as_message(job) for job in doubtful])
                    what = "again, since the machine was busy"
        with watch.stage("analyze"):
            analyze(analyzer, progress)
    return system_id


def _jobs(log: EventLog, models: Iterable[ModelIngested], benchmarks: Benchmarks) -> list[Record]:
    """The jobs of these models that are still to be done. Of each layer the last job counts."""
    layers = {layer.encode() for model in models for layer in benchmarked_layers(model)}
    last = {record.key: (record, job) for record, job in readable(log, JOBS, layers)}
    return [
        record
        for record, job in last.values()
        if isinstance(job, BenchmarkRequested) and benchmarks.wait(job)
    ]


def _bounds(
    policy: BoundPolicy, store: Store, models: Sequence[ModelIngested], system_id: str
) -> list[ModelBound]:
    """The bounds asked for, in the order asked for."""
    known = {
        (bound.model_id, bound.model, bound.precision): bound
        for bound in store.bounds([model.model_id for model in models])
        if bound.system_id == system_id and policy.includes(bound)
    }
    keys = [
        (model.model_id, model.name, precision)
        for model in models
        for precision in policy.precisions
    ]
    return [known[key] for key in keys if key in known]


def _without_bounds(
    log: EventLog,
    asked: Mapping[str, str],
    ingested: Mapping[str, ModelIngested],
    bounds: Iterable[ModelBound],
) -> list[FailedModel]:
    """The models that have no bound, each with the reason from the dead letters."""
    bounded = {bound.model_id for bound in bounds}
    of_bounds = {key for key, graph in ingested.items() if graph.model_id in bounded}
    failed = [key for key in asked if key not in of_bounds]
    reasons = _reasons(log) if failed else {}
    errors = []
    for key in failed:
        ids = (key, ingested[key].event_id) if key in ingested else (key,)
        reason = next((reasons[i] for i in ids if i in reasons), "no bound was found for it")
        errors.append(FailedModel(model=asked[key], reason=about_model(asked[key], reason)))
    return errors


def _reasons(log: EventLog) -> dict[str, str]:
    """The reasons of dead letters, by the ids of the events that they hold."""
    reasons = {}
    for letter in events_of(log, DEAD_LETTERS, DeadLetter):
        try:
            reasons[decode(letter.value).event_id] = letter.reason
        except DecodeError:
            continue  # The record wasn't an event, so it has no id.
    return reasons
