"""`benanza witness`: runs models as their bounds say. What isn't measured yet is measured first."""

from collections import defaultdict
from typing import NamedTuple

from benanza.installation.embedded import fill, opened_log
from benanza.looking.bound_program import program_of
from benanza.publishing.asked_models import asked_models
from benanza.publishing.fetched_once import FetchedOnce
from benanza.request import RunRequest
from benanza.results.bounds import FailedModel
from benanza.results.witness import ModelWitness, Witnesses
from benanza.running.pipeline import run
from benanza.running.progress import RunProgress
from benanza_analyzer.core import Analyzer
from benanza_analyzer.models.model_check import InvalidModelError
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_ingest.limits import Limits, limits_of
from benanza_ingest.reading.source import Fetch
from benanza_runner.cuda.available import why_unavailable
from benanza_runner.runtime import Runtime, Testimony
from benanza_runner.runtimes import open_runtime
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import (
    BoundUpdated,
    LayerMeasured,
    ModelIngested,
    ModelWitnessed,
    SystemMeasured,
    event_id,
)
from benanza_schemas.layer import Precision
from benanza_schemas.topics import BOUNDS, GRAPHS, RESULTS


def witness(request: RunRequest, settings: Settings, progress: RunProgress) -> Witnesses:
    """Runs each model as its bound says, with fusion and under the accounting `full`.

    A model that can't be run is among the results, with its `failure`; one without a bound is among
    the `errors`. Raises `BenanzaError` as `run` does, and where there is no GPU.
    """
    unavailable = why_unavailable()
    if unavailable:
        raise BenanzaError(f"witness {unavailable} (benanza bounds has the estimates)")
    fetch = FetchedOnce()
    found = run(request, settings, progress, fetch)
    limits = limits_of(settings)
    contents = _contents(request, limits, found.errors, fetch)
    witnesses = []
    with open_runtime(request.runtime, settings) as runtime, opened_log(settings) as log:
        known = _Known.of(log)
        progress.stage("running models", len(found.bounds))
        for bound in found.bounds:
            testimony = _testimony(bound, contents[bound.model_id], known, runtime, limits)
            log.append([as_message(_event(bound, testimony, known))])
            witnesses.append(_result(bound, testimony))
            progress.advance()
        with Store.open(settings.clickhouse) as store:
            fill(store, log)
    return Witnesses(witnesses=tuple(witnesses), errors=found.errors)


class _Known(NamedTuple):
    """What the log holds: bounds by model, system and precision; measurements by system and
    precision, and then by layer.
    """

    analyzer: Analyzer
    models: dict[str, ModelIngested]
    measured: dict[tuple[str, Precision], dict[str, list[LayerMeasured]]]
    bounds: dict[tuple[str, str, Precision], BoundUpdated]

    @classmethod
    def of(cls, log: EventLog) -> "_Known":
        known = cls(Analyzer(), {}, defaultdict(lambda: defaultdict(list)), {})
        for topic in (GRAPHS, RESULTS, BOUNDS):
            for record in log.records(topic):
                try:
                    known.take(decode(record.value))
                except (DecodeError, InvalidModelError):
                    continue  # It is among the dead letters.
        return known

    def take(self, event: object) -> None:
        match event:
            case ModelIngested():
                self.analyzer.restore(event)
                self.models[event.model_id] = event
            case SystemMeasured():
                self.analyzer.restore(event)
            case LayerMeasured():
                self.analyzer.restore(event)
                of_system = self.measured[event.system.system_id, event.precision]
                of_system[event.fingerprint].append(event)
            case BoundUpdated():
                if event.accounting == "full" and event.fusion:
                    self.bounds[event.model_id, event.system_id, event.precision] = event


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


def _testimony(
    bound: ModelBound, content: bytes, known: _Known, runtime: Runtime, limits: Limits
) -> Testimony:
    lacking = len(bound.coverage.missing)
    if lacking:
        return Testimony(
            failure=f"its bound lacks {lacking} layers, so it can't be run as a whole; `benanza "
            "bounds` says why they are missing"
        )
    covered = known.analyzer.covered(bound.model_id, bound.system_id, bound.precision)
    measured = known.measured[bound.system_id, bound.precision]
    program = program_of(known.models[bound.model_id], content, covered, measured, limits)
    return runtime.witness(program, bound.precision)


def _event(bound: ModelBound, testimony: Testimony, known: _Known) -> ModelWitnessed:
    time = now()
    of = known.bounds[bound.model_id, bound.system_id, bound.precision].event_id
    return ModelWitnessed(
        event_id=event_id("ModelWitnessed", of, time.isoformat()),
        model_id=bound.model_id,
        system_id=bound.system_id,
        bound_id=of,
        precision=bound.precision,
        batch=bound.batch,
        witnessed_at=time,
        sequential=testimony.sequential,
        read_ahead=testimony.read_ahead,
        parallel=testimony.parallel,
        calls=testimony.calls,
        layout_changes=testimony.layout_changes,
        error=testimony.error,
        allowed_error=testimony.allowed_error,
        unchecked=testimony.unchecked,
        failure=testimony.failure,
    )


def _result(bound: ModelBound, testimony: Testimony) -> ModelWitness:
    sequential, ahead, parallel = testimony.sequential, testimony.read_ahead, testimony.parallel
    return ModelWitness(
        model=bound.model,
        model_id=bound.model_id,
        batch=bound.batch,
        system=bound.system,
        system_id=bound.system_id,
        runtime=bound.runtime,
        precision=bound.precision,
        sequential_bound_us=bound.sequential_us,
        parallel_bound_us=bound.parallel_us,
        attainable_us=bound.attainable_us,
        sequential_us=sequential.median_us if sequential else None,
        sequential_iqr_us=sequential.iqr_us if sequential else None,
        read_ahead_us=ahead.median_us if ahead else None,
        read_ahead_iqr_us=ahead.iqr_us if ahead else None,
        parallel_us=parallel.median_us if parallel else None,
        parallel_iqr_us=parallel.iqr_us if parallel else None,
        calls=testimony.calls,
        layout_changes=testimony.layout_changes,
        error=testimony.error,
        allowed_error=testimony.allowed_error,
        unchecked=testimony.unchecked,
        failure=testimony.failure,
    )
