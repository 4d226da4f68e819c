"""How far an installation is, as its event log says: for the embedded one, whose store is filled at
the end of a run."""

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from benanza.results.operating import RunnerStatus
from benanza.running.counting import benchmarked_layers
from benanza.suites.results import OF_SUITES
from benanza_backbone.clickhouse.rows import has_its_own
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.readable import events_of
from benanza_backbone.event_log.standing import (
    TriedLayer,
    TriedSystem,
    standing_checkpoints,
    standing_tries,
)
from benanza_schemas.events import (
    BenchmarkRequested,
    CheckpointIngested,
    ModelIngested,
)
from benanza_schemas.layer import Precision
from benanza_schemas.times import is_timed
from benanza_schemas.topics import GRAPHS, JOBS

NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class Progress(NamedTuple):
    """How many models are ingested, how many unique layers and groups they have to be measured, and
    what each system has measured of these. One that measured nothing that anybody asked for isn't
    among them, and on one that timed a suite alone nothing waits.
    """

    ingested: int
    layers: int
    runners: tuple[RunnerStatus, ...]


class _Measured:
    """What one system has measured at one precision: of the layers asked about, which have a time.

    `last` is the layer that was measured last, whether it was asked about or not.
    """

    def __init__(self, system: TriedSystem, asked: Collection[str]) -> None:
        self.system = system
        self._asked = asked
        self.timed: dict[str, bool] = {}
        self.last = ""
        self.last_at = NEVER

    def add(self, event: TriedLayer) -> None:
        layer = event.fingerprint
        if layer in self._asked:
            self.timed[layer] = self.timed.get(layer, False) or is_timed(event)
        if event.measured_at >= self.last_at:
            self.last, self.last_at = layer, event.measured_at


def progress_in_log(log: EventLog, model: str = "") -> Progress:
    """With all models, or with those of this name, id or SHA-256.

    Raises `BenanzaError` if the log can't be read.
    """
    models = {
        ingested.model_id: ingested.architecture_id
        for ingested in _models(log)
        if model in ("", ingested.name, ingested.model_id, ingested.sha256)
    }
    jobs = {record.key.decode(errors="replace") for record in log.records(JOBS)}
    if model:
        keys = {architecture.encode() for architecture in models.values()}
        graphs = events_of(log, GRAPHS, ModelIngested, keys)
        layers = {layer for graph in graphs for layer in benchmarked_layers(graph)}
    else:
        layers = jobs
    measured: dict[tuple[str, Precision], _Measured] = {}
    with_jobs: set[tuple[str, Precision]] = set()
    for event in standing_tries(log):
        key = event.system.system_id, event.precision
        measured.setdefault(key, _Measured(event.system, layers)).add(event)
        if event.fingerprint in jobs:
            with_jobs.add(key)
    by_runner = {key: measured[key] for key in with_jobs}
    titles = _titles(log, {runner.last for runner in by_runner.values()})
    runners = (
        RunnerStatus(
            system_id=system_id,
            system=runner.system.accelerator or runner.system.cpu,
            runtime=runner.system.runtime,
            precision=precision,
            members=None,
            done=sum(runner.timed.values()),
            failed=len(runner.timed) - sum(runner.timed.values()),
            waiting=waiting_on(runner.system.method, len(layers) - len(runner.timed)),
            last_layer=titles.get(runner.last, ""),
            last_measured_at=runner.last_at,
        )
        for (system_id, precision), runner in sorted(by_runner.items())
    )
    return Progress(len(models), len(layers), tuple(runners))


def waiting_on(method: str, untried: int) -> int:
    """How many of the layers that weren't tried on a system wait for its runners."""
    return 0 if method.startswith(OF_SUITES) else untried


def _models(log: EventLog) -> Iterator[ModelIngested | CheckpointIngested]:
    """What says of a model that it is ingested; of one before version 10, its graph does."""
    yield from standing_checkpoints(log)
    yield from filter(has_its_own, events_of(log, GRAPHS, ModelIngested))


def _titles(log: EventLog, fingerprints: set[str]) -> dict[str, str]:
    keys = {fingerprint.encode() for fingerprint in fingerprints}
    jobs = events_of(log, JOBS, BenchmarkRequested, keys)
    return {job.fingerprint: job.layer.title() for job in jobs}
