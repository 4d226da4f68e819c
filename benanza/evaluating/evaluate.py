"""Runs a model in a framework under the load of a scenario."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from benanza.evaluating.loadgen import LoadSettings, loadgen_version, run_all, run_load
from benanza.evaluating.loading import batch_sizes, load_sizes
from benanza.evaluating.measured import measured_run
from benanza.evaluating.pipeline import Pipeline, service_times
from benanza.evaluating.request import EvaluationRequest
from benanza.evaluating.results import Evaluation, ServiceTimes
from benanza.evaluating.samples import MadeUpSamples, SampleSource
from benanza.evaluating.server.serving import served
from benanza.evaluating.under_test import AnsweredBatch, InTurn
from benanza.profiling.framework import (
    Configuration,
    Framework,
    configuration_named,
    framework_named,
)
from benanza.profiling.whole_model import whole_model
from benanza.publishing.asked_models import AskedModel, asked_models
from benanza.publishing.fetched_once import FetchedOnce
from benanza.request import RunRequest
from benanza.spans.looking import LookedAt, look
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_ingest.limits import Limits
from benanza_runner.machine_load import machine_load
from benanza_runner.measuring.busy import busy_between

SERVICE_S = 0.3
"""For so long each batch size runs without load."""


class EvaluationRun(NamedTuple):
    """An evaluation with what a trace is made of: the batches that were answered under load, and
    `look`, which looks into a few requests when it is called.
    """

    evaluation: Evaluation
    batches: Sequence[AnsweredBatch] = ()
    look: Callable[[], Iterable[LookedAt]] = tuple


def evaluated(
    request: EvaluationRequest,
    source: SampleSource | None = None,
    limits: Limits | None = None,
) -> Evaluation:
    """Runs the model, with samples that are made up where no source gives any.

    What can't be run is an evaluation with its `failure`. Raises `BenanzaError` if there is no such
    framework, and if the model can't be fetched, or is none.
    """
    return evaluation_run(request, source, limits or Limits()).evaluation


def evaluation_run(
    request: EvaluationRequest, source: SampleSource | None, limits: Limits
) -> EvaluationRun:
    """As `evaluated`, with what its trace is made of."""
    framework = framework_named(request.framework)
    configuration = configuration_named(framework, request.configuration)
    fetch = FetchedOnce()
    run = RunRequest((request.model,), batch_sizes=(1,), dims=request.dims)
    (asked,) = asked_models(request.model, run, limits, fetch)
    evaluation = _begun(request, asked, framework, configuration, source)
    sizes = (1,) if request.scenario == "single-stream" else batch_sizes(request.max_batch)
    before = machine_load()
    try:
        content = fetch.whole(request.model, limits)
        loaded = load_sizes(
            framework, configuration, content, request.precision, sizes, request.dims, limits
        )
        samples = source or MadeUpSamples(loaded.model.at(1).inputs)
        if loaded.as_in_file:
            of_file = RunRequest((request.model,), dims=request.dims)
            (asked,) = asked_models(request.model, of_file, limits, fetch)
        evaluation = msgspec.structs.replace(
            evaluation,
            model_id=asked.model_id,
            not_batched=loaded.not_batched,
            as_in_file=loaded.as_in_file,
        )
        pipeline = Pipeline(loaded.model, samples)
        evaluation, batches = _under_load(evaluation, pipeline)
    except BenanzaError as error:
        return EvaluationRun(msgspec.structs.replace(evaluation, failure=str(error)))
    by = busy_between(before, machine_load()).by
    evaluation = msgspec.structs.replace(evaluation, slowed_by=" and ".join(by))
    if not batches:
        return EvaluationRun(evaluation)

    def looked() -> Iterable[LookedAt]:
        batch = max(batches, key=lambda batch: len(batch.queries)).answered.ran_as
        of_file = None if loaded.as_in_file else batch
        model = partial(whole_model, content, of_file, request.dims, limits)
        return look(framework, configuration, model, request.precision, pipeline, batch)

    return EvaluationRun(evaluation, batches, looked)


def _begun(
    request: EvaluationRequest,
    asked: AskedModel,
    framework: Framework,
    configuration: Configuration,
    source: SampleSource | None,
) -> Evaluation:
    return Evaluation(
        request=request,
        name=asked.event.name,
        model_id=asked.model_id,
        sha256=asked.event.sha256,
        dims=dict(asked.dims),
        system=framework.system(),
        configuration=configuration.name,
        loadgen=loadgen_version(),
        samples=source.name if source else "made up",
        evaluated_at=now(),
    )


def _under_load(
    evaluation: Evaluation, pipeline: Pipeline
) -> tuple[Evaluation, Sequence[AnsweredBatch]]:
    """The evaluation with all that is measured, and what was answered."""
    request = evaluation.request
    service = service_times(pipeline, SERVICE_S)
    evaluation = msgspec.structs.replace(evaluation, service=service)
    best = max(service, key=lambda times: times.per_s)
    in_turn = partial(InTurn, pipeline, batch=best.batch)
    if request.scenario == "server":
        evaluation, batches = served(evaluation, pipeline)
    else:
        load = LoadSettings(
            request.scenario,
            request.seeds,
            request.duration_s,
            expected_us=_expected_us(request, service[0], best),
            rate_per_s=best.per_s,
            streams=request.streams,
        )
        said, system = run_load(load, pipeline, in_turn)
        batches = system.batches
        measured = measured_run(request.scenario, said, batches)
        evaluation = msgspec.structs.replace(evaluation, measured=measured)
    if not pipeline.source.scores:
        return evaluation, batches
    every = run_all(pipeline, request.seeds, partial(in_turn, keeps=True))
    metrics = dict(pipeline.source.metrics(every.results))
    return msgspec.structs.replace(evaluation, metrics=metrics), batches


def _expected_us(request: EvaluationRequest, alone: ServiceTimes, best: ServiceTimes) -> float:
    """How long a query takes: of multi-stream that of all its samples."""
    if request.scenario == "multi-stream":
        return best.median_us * request.streams / best.batch
    return alone.median_us
