"""What dedupe remembers from one process to the next."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benanza.installation.embedded import drain
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_dedupe.step import dedupe_step
from benanza_schemas.events import (
    BenchmarkRequested,
    LayerSeen,
)
from benanza_schemas.topics import JOBS, LAYERS
from tests.steps import clock, ingested, written


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as opened:
        yield opened


def test_dedupe_knows_the_layers_of_former_processes(log: EventLog) -> None:
    for models in (("zoo:squeezenet",), ("zoo:squeezenet", "zoo:zfnet512"), ("zoo:alexnet",)):
        ingested(log, *models)
        with dedupe_step(log, clock) as step:
            drain(step)
    jobs = [job.fingerprint for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    seen = {layer.fingerprint for layer in written(log, LAYERS) if isinstance(layer, LayerSeen)}
    assert len(jobs) == len(set(jobs))
    assert set(jobs) == seen


def test_dedupe_that_dies_between_write_and_commit_repeats_no_job(log: EventLog) -> None:
    ingested(log, "zoo:squeezenet")
    with dedupe_step(log, clock) as step, pytest.MonkeyPatch.context() as patch:
        patch.setattr(step._consumer, "commit", _die)
        with pytest.raises(KeyboardInterrupt):
            step.turn(limit=10)
    with dedupe_step(log, clock) as step:
        drain(step)
    jobs = [job.fingerprint for job in written(log, JOBS) if isinstance(job, BenchmarkRequested)]
    seen = {layer.fingerprint for layer in written(log, LAYERS) if isinstance(layer, LayerSeen)}
    assert sorted(jobs) == sorted(seen)


def _die(*arguments: object) -> None:
    raise KeyboardInterrupt
