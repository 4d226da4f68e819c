"""`benanza retry`: what failed is measured again, and nothing else."""

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benanza.cli import cli
from benanza.installation.embedded import drain
from benanza.running import pipeline
from benanza_analyzer.sink import sink_step
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_backbone.event_log.readable import events_of
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import load
from benanza_runner.runtime import Outcome
from benanza_runner.step import runner_step
from benanza_schemas.codec import decode
from benanza_schemas.events import BenchmarkRequested, LayerMeasured
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.topics import JOBS, RESULTS
from tests.backbone.sample_events import REQUESTED, measured
from tests.benanza.commands.conftest import Kind, opened_log
from tests.benanza.hashed_runtime import HashedRuntime
from tests.runner.fake_runtime import FakeRuntime, variant

pytestmark = pytest.mark.integration

MODEL = "zoo:squeezenet"
REASON = "out of memory"


class FailingRuntime(FakeRuntime):
    """Can't measure anything, for now, and counts."""

    def __init__(self, threads: int = 1, reason: str = f"CUDA: {REASON.upper()}") -> None:
        super().__init__(threads)
        self.measured = 0
        self._reason = reason

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        self.measured += 1
        return Outcome(failure=self._reason)


class MendedRuntime(FailingRuntime):
    """Measures all that it is asked for."""

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        self.measured += 1
        return Outcome(variants=(variant(3.0),))


def command(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def retried(*arguments: str) -> dict[str, int]:
    result = command("retry", *arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    found: dict[str, int] = json.loads(result.stdout)
    return found


def benchmarked(runtime: FakeRuntime, precision: Precision = "fp32") -> None:
    """A runner's turn, and the store's."""
    with opened_log() as log:
        with runner_step(log, runtime, precision, now) as runner:
            drain(runner)
        with (
            Store.open(load(os.environ).clickhouse) as store,
            sink_step(log, store, now) as sink,
        ):
            drain(sink)


@pytest.fixture
def requested(with_engine: Kind) -> Kind:
    """An installation with three jobs."""
    with opened_log() as log:
        log.append([as_message(job) for job in REQUESTED])
    return with_engine


def test_what_failed_is_measured_again_once(requested: Kind) -> None:
    benchmarked(FailingRuntime())
    size = len(REQUESTED)
    assert retried() == {"layers": size, "waiting": 0, "without_job": 0}
    assert retried() == {"layers": 0, "waiting": size, "without_job": 0}
    mended = MendedRuntime()
    benchmarked(mended)
    assert mended.measured == size
    assert retried() == {"layers": 0, "waiting": 0, "without_job": 0}


def test_what_fails_again_may_be_asked_for_again(requested: Kind) -> None:
    benchmarked(FailingRuntime())
    for _ in range(2):
        assert retried("--reason", REASON)["layers"] == len(REQUESTED)
        benchmarked(FailingRuntime())
    with opened_log() as log:
        results = [decode(record.value) for record in log.records(RESULTS)]
        assert len({result.event_id for result in results}) == 3 * len(REQUESTED)
        jobs = [decode(record.value) for record in log.records(JOBS)]
        assert len({job.event_id for job in jobs}) == 3 * len(REQUESTED)


@pytest.mark.usefixtures("requested")
def test_the_last_reason_counts() -> None:
    benchmarked(FailingRuntime())
    retried()
    benchmarked(FailingRuntime(reason="no library runs it"))
    assert retried("--reason", REASON)["layers"] == 0
    assert retried("--reason", "no library")["layers"] == len(REQUESTED)


@pytest.mark.usefixtures("requested")
def test_systems_that_were_not_asked_measure_nothing() -> None:
    """Neither one that failed itself, nor one that comes later, for each time it was asked."""
    benchmarked(FailingRuntime())
    benchmarked(FailingRuntime(threads=2))
    for _ in range(3):
        retried("--system", FailingRuntime().system().system_id)
        benchmarked(FailingRuntime())
    for threads, measured_now in ((2, 0), (3, len(REQUESTED)), (1, 0)):
        runtime = FailingRuntime(threads)
        benchmarked(runtime)
        assert runtime.measured == measured_now


@pytest.mark.usefixtures("requested")
def test_the_last_job_of_a_layer_asks_all_that_were_asked() -> None:
    """Of the jobs of a layer, logs keep the last."""
    systems = [FailingRuntime(threads) for threads in (1, 2)]
    for failing in systems:
        benchmarked(failing)
    for failing in systems:
        assert retried("--system", failing.system().system_id)["layers"] == len(REQUESTED)
    with opened_log() as log:
        last = {job.fingerprint: job for job in events_of(log, JOBS, BenchmarkRequested)}
        results = list(events_of(log, RESULTS, LayerMeasured))
    failures = {of: {each.event_id for each in results if each.fingerprint == of} for of in last}
    assert {of: set(job.after) for of, job in last.items()} == failures
    for failing in systems:
        benchmarked(failing)
        assert failing.measured == 2 * len(REQUESTED)


def test_only_those_with_that_reason_on_that_system(requested: Kind) -> None:
    runtime = FailingRuntime()
    benchmarked(runtime)
    assert retried("--reason", "no library")["layers"] == 0
    refused = command("retry", "--system", "0" * 32)
    assert refused.exit_code == 1
    assert f"those that have are: {runtime.system().system_id}" in refused.stderr
    assert retried("--system", runtime.system().system_id[:8])["layers"] == len(REQUESTED)


def test_a_system_with_a_time_passes_over_it(requested: Kind) -> None:
    other = MendedRuntime()
    benchmarked(FailingRuntime(), "fp32")
    benchmarked(other, "fp16")
    assert other.measured == len(REQUESTED)
    retried()
    benchmarked(other, "fp16")
    assert other.measured == len(REQUESTED)


def test_results_of_elsewhere_have_no_job_here(with_engine: Kind) -> None:
    job, other = REQUESTED[:2]
    with opened_log() as log:
        log.append([as_message(job)])
    benchmarked(FailingRuntime())
    with Store.open(load(os.environ).clickhouse) as store:
        store.insert([measured(other.fingerprint, at=1, failure="no memory")])
    result = command("retry")
    assert result.stdout == "asked for 1 layer again\n"
    assert result.stderr.startswith("1 layer failed too, without a job here")


def test_a_run_measures_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One layer in ten fails first, and none when it is asked for again."""
    data = ["--data", str(tmp_path)]
    monkeypatch.delenv("BENANZA_KAFKA", raising=False)
    monkeypatch.setattr(pipeline, "open_runtime", lambda *_: nullcontext(HashedRuntime()))
    first = json.loads(command("run", MODEL, *data, "--format", "json").stdout)
    failed = first["layers"]["failed"] + first["layers"]["split"]
    assert failed > 0
    assert retried(*data) == {"layers": failed, "waiting": 0, "without_job": 0}
    mended = MendedRuntime()
    monkeypatch.setattr(pipeline, "open_runtime", lambda *_: nullcontext(mended))
    second = json.loads(command("run", MODEL, *data, "--format", "json").stdout)
    assert mended.measured == failed
    assert (second["layers"]["failed"], second["layers"]["benchmarked"]) == (0, failed)
    (bound,) = second["bounds"]
    assert not bound["partial"]
    assert bound["coverage"]["missing"] == []
