"""A small model under load, in LoadGen's four scenarios."""

import gc
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

pytest.importorskip("mlperf_loadgen")

from benanza.evaluating import evaluate as module
from benanza.evaluating.batches import BatchedModel
from benanza.evaluating.beside import beside
from benanza.evaluating.evaluate import evaluated
from benanza.evaluating.loadgen import queries_for
from benanza.evaluating.pipeline import Answered, Pipeline
from benanza.evaluating.request import EvaluationRequest, Scenario
from benanza.evaluating.results import (
    Evaluation,
    MeasuredLoad,
    Overheads,
    ServiceTimes,
    Tried,
)
from benanza.evaluating.samples import SampleSource
from benanza.evaluating.server.serving import _default_limit_us, _none_keeps
from benanza.installation.configured import configured_log, known_store
from benanza.profiling.whole_model import Arrays
from benanza.settings import load
from benanza_backbone.errors import BenanzaError
from benanza_runner.arrays import Array
from tests.ingest.onnx_text import content

pytestmark = pytest.mark.integration

NET = """
g (float[N, 4] x) => (float[N, 4] y) {
    z = Relu(x)
    y = Add(z, x)
}
"""


TIME_FIRST = """
g (float[3, 4] x) => (float[4, 2] y) {
    t = Transpose(x)
    w = Constant <value = float[3, 2] {1, 2, 3, 4, 5, 6}> ()
    y = MatMul(t, w)
}
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times say nothing here."""
    monkeypatch.setattr(module, "SERVICE_S", 0.01)


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "net.onnx"
    path.write_bytes(content(NET))
    return str(path)


def run(model: str, scenario: Scenario, **others: Any) -> tuple[Evaluation, MeasuredLoad]:
    found = evaluated(EvaluationRequest(model=model, scenario=scenario, duration_s=0.05, **others))
    assert found.failure == ""
    assert found.measured is not None
    return found, found.measured


def test_a_single_stream_is_valid(model: str) -> None:
    found, measured = run(model, "single-stream")
    assert measured.validity.valid, measured.validity.reason
    assert "early stopping" in measured.validity.checks
    assert measured.queries == measured.samples >= 64
    assert measured.batches == {1: measured.samples}
    assert measured.latency is not None
    assert measured.latency.p50_us <= measured.latency.p90_us <= measured.latency.p99_us
    whole_us = measured.issuing_us + measured.queueing.mean_us + measured.computing.mean_us
    assert measured.latency.mean_us == pytest.approx(whole_us)
    assert [times.batch for times in found.service] == [1]


def test_python_collects_nothing_old_during_a_run(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at all objects of a framework's modules stopped the server for 0.2 s."""
    old: list[object] = []
    looked_at: list[bool] = []
    answer = Pipeline.answer

    def is_looked_at() -> bool:
        return any(each is old for each in gc.get_objects())  # those that are frozen are not

    def answered(pipeline: Pipeline, indices: Sequence[int]) -> Answered:
        looked_at.append(is_looked_at())
        return answer(pipeline, indices)

    monkeypatch.setattr(Pipeline, "answer", answered)
    assert is_looked_at()
    run(model, "offline")
    assert not looked_at[-1]
    assert is_looked_at()


def test_requests_of_several_samples_and_all_at_once_are_valid(model: str) -> None:
    _, streams = run(model, "multi-stream", streams=4)
    assert streams.validity.valid, streams.validity.reason
    assert streams.samples == 4 * streams.queries
    _, offline = run(model, "offline")
    assert offline.validity.valid, offline.validity.reason
    assert (offline.queries, offline.latency) == (1, None)
    assert max(offline.batches) <= 8


def test_a_server_that_is_too_slow_is_invalid_and_says_why(model: str) -> None:
    found, measured = run(model, "server", rate_per_s=5_000.0, limit_us=1.0)
    assert not measured.validity.valid
    assert measured.validity.checks["performance constraints"] is False
    assert "Reduce target QPS" in measured.validity.reason
    assert found.simulated is not None


def test_a_server_of_a_tiny_model_has_a_limit_that_it_can_keep(model: str) -> None:
    """Ten times a few microseconds are less than a request waits for others."""
    found, measured = run(model, "server", rate_per_s=1_000.0)
    assert found.limit_us is not None
    assert found.limit_us > 2_000.0
    assert measured.latency is not None
    assert measured.latency.p50_us > 10 * found.service[0].median_us


def test_what_has_no_batch_of_one_runs_as_its_file_has_it(tmp_path: Path) -> None:
    """The first axis may be time."""
    path = tmp_path / "time.onnx"
    path.write_bytes(content(TIME_FIRST))
    found, measured = run(str(path), "offline")
    assert measured.validity.valid
    assert [times.batch for times in found.service] == [1]
    assert found.not_batched.startswith("what its file takes at once is one sample: not at batch")
    path.write_bytes(content(TIME_FIRST.replace("float[3, 2] {", "float[4, 2] {7, 8, ")))
    found = evaluated(EvaluationRequest(model=str(path)))
    assert "batch" in found.failure, "why it isn't at batch size 1"


def test_a_server_has_as_many_requests_as_its_percentile_needs(model: str) -> None:
    """LoadGen's check for early stopping counts on more of them for a higher percentile."""
    _, measured = run(model, "server", rate_per_s=4_000.0, limit_us=1e6, percentile=0.999)
    assert measured.validity.valid, measured.validity.reason
    assert measured.queries >= 6_636


def test_requests_are_as_many_as_early_stopping_needs() -> None:
    assert [queries_for(percentile) for percentile in (0.9, 0.99, 0.999)] == [64, 662, 6_636]


@pytest.mark.parametrize("scenario", ["single-stream", "server"])
def test_a_call_that_fails_under_load_is_a_failure(
    model: str, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("CUDA out of memory.\nTried to allocate 2 GiB.")

    monkeypatch.setattr(BatchedModel, "run", fails)
    found = evaluated(EvaluationRequest(model=model, scenario=scenario, duration_s=0.05))
    assert found.measured is None
    assert found.failure == ("the model can't be run: CUDA out of memory. Tried to allocate 2 GiB.")


@pytest.mark.parametrize("scenario", ["single-stream", "server", "offline"])
def test_ctrl_c_ends_an_evaluation_and_nothing_else(
    model: str, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception that goes through LoadGen's callbacks ends the process by a segfault."""
    run_batch, calls = BatchedModel.run, []

    def interrupts(batched: BatchedModel, samples: Sequence[Arrays]) -> list[list[Array]]:
        calls.append(signal.getsignal(signal.SIGINT))
        if calls[-1] is not signal.default_int_handler:  # a run of LoadGen has begun
            os.kill(os.getpid(), signal.SIGINT)
        return run_batch(batched, samples)

    load = {"rate_per_s": 1_000.0, "limit_us": 1e6} if scenario == "server" else {}
    with monkeypatch.context() as patched:
        patched.setattr(BatchedModel, "run", interrupts)
        with pytest.raises(KeyboardInterrupt):
            run(model, scenario, **load)
    assert calls[-2] is signal.default_int_handler, "the model ran no more"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert run(model, scenario, **load)[1].validity.valid


def test_the_greatest_rate_was_confirmed_by_a_whole_run(model: str) -> None:
    found, measured = run(model, "server", limit_us=1e6, max_wait_us=0.0)
    assert measured.validity.valid, measured.validity.reason
    assert found.searched
    assert found.tried[-1].valid
    assert found.tried[-1].rate_per_s == found.rate_per_s


class Labelled(SampleSource):
    """Numbers that the net doubles where they are positive; what is wrong is the last."""

    scores = True
    name = "ten numbers"
    count = 10

    def load(self, indices: Sequence[int]) -> list[Any]:
        return list(indices)

    def preprocess(self, sample: Any) -> Arrays:
        return {"x": np.full((1, 4), float(sample), np.float32)}

    def postprocess(self, outputs: Sequence[Array]) -> Any:
        return float(outputs[0].sum())

    def metrics(self, results: Mapping[int, Any]) -> Mapping[str, float]:
        right = [result == 8 * index and index < 9 for index, result in results.items()]
        return {"accuracy": sum(right) / self.count}


def test_samples_say_what_the_results_are_worth(model: str) -> None:
    request = EvaluationRequest(model=model, scenario="offline", duration_s=0.01)
    found = evaluated(request, Labelled())
    assert found.metrics == {"accuracy": 0.9}
    assert found.samples == "ten numbers"
    assert found.measured is not None
    assert found.measured.prepare_us > 0


@pytest.mark.parametrize(
    ("scenario", "size"), [("single-stream", "1"), ("multi-stream", "4"), ("offline", "8")]
)
def test_without_a_bound_it_says_how_to_have_one(
    model: str, scenario: Scenario, size: str, tmp_path: Path
) -> None:
    found, _ = run(model, scenario, streams=4)
    alike = [msgspec.structs.replace(times, median_us=1.0) for times in found.service]
    found = msgspec.structs.replace(found, service=tuple(alike))
    settings = load(tmp_path / "data")
    with configured_log(settings), known_store(settings) as store:
        said = beside(store, found).without_bound
    assert said.startswith("no full bound of it is known on this device")
    assert said.endswith(f"; say: benanza run {model} --batch {size} --precision fp32")


def test_without_a_bound_of_more_than_was_loaded_it_says_how_to_have_one(
    model: str, tmp_path: Path
) -> None:
    found, _ = run(model, "multi-stream", streams=16, max_batch=2)
    settings = load(tmp_path / "data")
    with configured_log(settings), known_store(settings) as store:
        assert "; say: benanza run " in beside(store, found).without_bound
        # What can't be run has no times.
        failed = msgspec.structs.replace(
            found, service=(), not_batched="why", measured=None, failure="no memory"
        )
        assert "; say: benanza run " in beside(store, failed).without_bound
        fewer = msgspec.structs.replace(found, not_batched="not at batch size 4: no memory")
        assert beside(store, fewer).without_bound.endswith(
            " at batch size 16; not at batch size 4: no memory"
        )


def test_a_rate_that_none_keeps_is_said_by_the_percentile_that_was_asked_for() -> None:
    tried = [Tried(rate_per_s=per_s, p99_us=3_000.0, valid=False) for per_s in (80.0, 0.04)]
    said = _none_keeps(0.99995, 2_000.0, tried)
    assert said.startswith("none of 2 rates keeps the limit, 99.995% within 2 ms: at 0.04 requests")
    assert "99% were answered within 3 ms" in said
    assert "limit_us" in said


@pytest.mark.parametrize(
    ("alone_us", "limit_us"), [(3_000.0, 30_000.0), (10.0, 5_020.0), (40_000.0, 400_000.0)]
)
def test_a_server_has_time_for_its_batches_and_for_the_model(
    alone_us: float, limit_us: float
) -> None:
    request = EvaluationRequest(model="m", scenario="server", max_wait_us=2_000.0)
    beside = Overheads(issuing_us=200.0, starting_us=100.0, between_us=0.0)
    times = ServiceTimes(batch=1, median_us=alone_us, samples_us=(), after_idle_us=())
    assert _default_limit_us(request, times, beside) == limit_us
    waits = msgspec.structs.replace(request, max_wait_us=1e6)
    assert _default_limit_us(waits, times, beside) == 1e6 + 3_000.0 + 2 * alone_us


def test_what_can_t_be_run_says_why(model: str) -> None:
    found = evaluated(EvaluationRequest(model=model, precision="fp16"))
    assert "export it at fp16" in found.failure
    assert found.measured is None
    with pytest.raises(BenanzaError, match="there is no framework 'none'"):
        evaluated(EvaluationRequest(model=model, framework="none"))
