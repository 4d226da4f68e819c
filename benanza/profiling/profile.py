"""`benanza profile`: how long a framework takes for models, call by call."""

from itertools import product
from typing import NamedTuple

from benanza.errors import about_model
from benanza.installation.configured import configured_log, known_store
from benanza.profiling.beside_bound import LowestBounds, beside_bound
from benanza.profiling.framework import Configuration, Framework, Profile, framework_named
from benanza.profiling.repetitions import together
from benanza.profiling.whole_model import whole_model
from benanza.publishing.asked_models import AskedModel, asked_models
from benanza.publishing.fetched_once import FetchedOnce
from benanza.request import RunRequest
from benanza.results.bounds import FailedModel
from benanza.results.profile import Profiles
from benanza.running.progress import RunProgress, Silent
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits, limits_of
from benanza_schemas.events import ModelProfiled, event_id
from benanza_schemas.layer import Precision


class ProfileRequest(NamedTuple):
    """What to run with what: all configurations of the framework, or the one that those have who
    set nothing. Each run is repeated in so many sessions, whose times count as one run's.
    """

    run: RunRequest
    framework: str
    all_configurations: bool = False
    repetitions: int = 1


class Ran(NamedTuple):
    """The runs of models, and the models that can't be read."""

    runs: list[tuple[AskedModel, ModelProfiled]]
    errors: tuple[FailedModel, ...]


def profile(
    request: ProfileRequest, settings: Settings, progress: RunProgress | None = None
) -> Profiles:
    """Runs each model in the framework, and sets that beside its bound where one is known. Raises
    `BenanzaError` as `run_models` does, and if the store can't be used.
    """
    runs, errors = run_models(request, settings, progress)
    if not runs:
        return Profiles(profiles=(), errors=errors)
    with known_store(settings) as store:
        bounds = LowestBounds(store)
        events = [event for _, event in runs]
        profiles = tuple(
            beside_bound(bounds, asked.event.name, event, events) for asked, event in runs
        )
    return Profiles(profiles=profiles, errors=errors)


def run_models(
    request: ProfileRequest, settings: Settings, progress: RunProgress | None = None
) -> Ran:
    """Runs each model in the framework, and appends what comes of it to the log.

    A model that the framework can't run is among the runs, with its `failure`; one that can't be
    read is among the `errors`. Raises `BenanzaError` if there is no such framework, or if the log
    can't be used.
    """
    progress = progress or Silent()
    framework = framework_named(request.framework)
    limits = limits_of(settings)
    fetch = FetchedOnce()
    asked: list[AskedModel] = []
    errors: list[FailedModel] = []
    for model in request.run.models:
        try:
            asked += asked_models(model, request.run, limits, fetch)
        except BenanzaError as error:
            errors.append(FailedModel(model=model, reason=about_model(model, str(error))))
    runs = _runs(framework, request)
    progress.stage("running models", len(asked) * len(runs))
    ran: list[tuple[AskedModel, ModelProfiled]] = []
    for asked_model in asked:
        try:
            content = fetch.whole(asked_model.model, limits)
        except BenanzaError as error:
            errors.append(
                FailedModel(
                    model=asked_model.model, reason=about_model(asked_model.model, str(error))
                )
            )
            continue
        for precision, configuration in runs:
            event = profiled(
                asked_model,
                content,
                framework,
                precision,
                configuration,
                limits,
                request.repetitions,
            )
            if event is not None:
                with configured_log(settings) as log:
                    log.append([as_message(event)])
                ran.append((asked_model, event))
            progress.advance()
    return Ran(ran, tuple(errors))


def _runs(framework: Framework, request: ProfileRequest) -> list[tuple[Precision, Configuration]]:
    known = framework.configurations()
    configurations = known if request.all_configurations else known[:1]
    return list(product(request.run.policy.precisions, configurations))


def profiled(
    asked: AskedModel,
    content: bytes,
    framework: Framework,
    precision: Precision,
    configuration: Configuration,
    limits: Limits,
    repetitions: int = 1,
) -> ModelProfiled | None:
    """Runs the model in the framework; `None` if the configuration makes no difference for it.
    `content` are the bytes of its file.

    If it can't be run, `failure` says why.
    """
    batch = next(iter(asked.event.batch_sizes), None)
    try:
        model = whole_model(content, batch, asked.event.dims, limits)
        if not framework.matters(model, configuration):
            return None
        outcome = together(
            [framework.profile(model, precision, configuration) for _ in range(repetitions)]
        )
    except ModelError as error:
        outcome = Profile(failure=str(error))
    system, time = framework.system(), now()
    causes = (asked.model_id, system.system_id, configuration.name, precision, time.isoformat())
    return ModelProfiled(
        event_id=event_id("ModelProfiled", *causes),
        model_id=asked.model_id,
        system=system,
        configuration=configuration.name,
        options=dict(configuration.options),
        precision=precision,
        batch=asked.batch,
        profiled_at=time,
        times=outcome.times,
        times_looked_at=outcome.times_looked_at,
        calls=outcome.calls,
        environment=dict(outcome.environment),
        failure=outcome.failure,
    )
