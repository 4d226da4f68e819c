"""Evaluations of a small model as traces."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from opentelemetry.trace import StatusCode

pytest.importorskip("mlperf_loadgen")

from benanza.evaluating import evaluate as module
from benanza.evaluating.evaluate import EvaluationRun, evaluation_run
from benanza.evaluating.request import EvaluationRequest, Scenario
from benanza.onnxruntime import observed
from benanza.onnxruntime.observed import ObservedSession
from benanza.profiling.framework import ObservedRun
from benanza.render.load.trace import trace_lines
from benanza.spans.looking import REQUESTS, LookedAt
from benanza.spans.of_evaluation import MOST_SAMPLES, evaluation_trace
from benanza.spans.trace import SpanTrace
from benanza_ingest.limits import Limits
from benanza_schemas.events import FrameworkCall, FrameworkKernel
from tests.benanza.evaluating.test_evaluate import NET
from tests.benanza.spans.checking import exported, slices
from tests.ingest.onnx_text import content

pytestmark = pytest.mark.integration

TRACE_ID = "0123456789abcdef" * 2


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times say nothing here."""
    monkeypatch.setattr(module, "SERVICE_S", 0.01)


def run(folder: Path, scenario: Scenario, framework: str = "onnxruntime") -> EvaluationRun:
    path = folder / "net.onnx"
    path.write_bytes(content(NET))
    request = EvaluationRequest(
        model=str(path),
        scenario=scenario,
        framework=framework,
        duration_s=0.02,
        rate_per_s=2_000.0 if scenario == "server" else None,
        limit_us=1e6,
        max_batch=4,
    )
    return evaluation_run(request, None, Limits())


def names_within(trace: SpanTrace, parent: str) -> list[list[str]]:
    """The names of the spans within each span of this name."""
    around = [span.span_id for span in trace.spans if span.name == parent]
    return [[span.name for span in trace.spans if span.parent == each] for each in around]


def test_an_evaluation_is_one_trace_down_to_the_framework_s_calls(tmp_path: Path) -> None:
    found = run(tmp_path, "single-stream")
    assert found.evaluation.failure == ""
    trace = evaluation_trace(found, TRACE_ID)
    spans = exported(trace)
    slices(trace)
    (links,) = (span.links for span in spans if span.parent is None)
    assert [link.context.trace_id for link in links] == [int(found.evaluation.model_id, 16)]
    runs = [span.name for span in trace.spans if span.parent == trace.spans[0].span_id]
    assert runs == ["under load", "looked at layers"]
    requests = names_within(trace, "under load")
    assert requests == [["request"] * min(MOST_SAMPLES, len(found.batches))]
    assert set(map(tuple, names_within(trace, "request"))) == {("queueing", "batch")}
    steps = {("pre-processing", "call", "post-processing")}
    assert set(map(tuple, names_within(trace, "batch"))) == steps
    calls = [names for names in names_within(trace, "call") if names]
    assert calls == [["Relu", "Add"]] * REQUESTS
    layers = [span.attributes.get("benanza.layers") for span in trace.spans]
    assert [each for each in layers if each] == [(0,), (1,)] * REQUESTS
    for position in (0, 1):
        nodes = [s for s in trace.spans if s.attributes.get("benanza.layers") == (position,)]
        assert any(node.end_ns > node.start_ns for node in nodes)  # some take no microsecond
    (_, looking) = trace_lines(trace)
    assert looking.startswith("looked at layers: a call takes ")


def test_what_can_t_be_looked_at_is_a_span_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = ObservedSession.runs
    monkeypatch.setattr(ObservedSession, "runs", lambda self: runs(self)[1:])
    found = run(tmp_path, "single-stream")
    lost = evaluation_trace(found, TRACE_ID)
    monkeypatch.setattr(observed, "MOST_BYTES", 10)
    long = evaluation_trace(found, TRACE_ID)
    for trace, why in ((lost, "of 10 requests, the profiler saw 9"), (long, "over 10")):
        (failed,) = (span for span in exported(trace) if not span.status.is_unset)
        assert failed.name == "looked at layers"
        assert failed.status.status_code is StatusCode.ERROR
        assert str(failed.status.description).endswith(why)
        (shown,) = (each for each in slices(trace) if "failure" in each["args"])
        assert shown["args"]["failure"] == failed.status.description


def test_without_a_rate_there_is_no_load(tmp_path: Path) -> None:
    found = run(tmp_path, "single-stream")
    evaluation = replace(found.evaluation, measured=None, failure="no rate")
    trace = evaluation_trace(found._replace(evaluation=evaluation), TRACE_ID)
    assert "under load" not in {span.name for span in trace.spans}
    assert exported(trace)[0].status.description == "no rate"


def test_kernels_are_within_their_calls_whatever_the_clock_of_the_gpu_says(tmp_path: Path) -> None:
    found = run(tmp_path, "single-stream")
    (at_layers,) = found.look()
    answered = at_layers.answered[0]
    (seen, *_) = at_layers.runs
    call_us = (answered.ran_ns - answered.prepared_ns) / 1_000
    kernels = (FrameworkKernel("first", 0.0, 1.0), FrameworkKernel("second", 2.0, 2 * call_us))
    call = FrameworkCall("conv", "Conv", (0,), 0.0, 1.0 + 2 * call_us, 0.0, kernels)
    late = ObservedRun(seen.start_us + call_us, call_us, (call,))
    for clock in (late, late._replace(start_us=seen.start_us - call_us)):
        looked = LookedAt("kernels", [answered], [clock], 1.0, (0.0, 1.0, 2.0))
        trace = evaluation_trace(found._replace(look=[looked].copy), TRACE_ID)
        exported(trace)
        slices(trace)
        assert names_within(trace, "Conv") == [["first", "second"]]


def test_the_same_evaluation_has_the_same_spans(tmp_path: Path) -> None:
    found = run(tmp_path, "offline")
    once, again = (evaluation_trace(found, TRACE_ID) for _ in range(2))
    assert [span.span_id for span in once.spans] == [span.span_id for span in again.spans]
    exported(once)
    slices(once)


def test_requests_of_a_server_overlap_in_rows_of_their_own(tmp_path: Path) -> None:
    found = run(tmp_path, "server")
    trace = evaluation_trace(found, TRACE_ID)
    exported(trace)
    shown = slices(trace)
    batches = {each["args"]["span_id"] for each in shown if each["name"] == "batch"}
    requests = [each for each in shown if each["name"] == "request"]
    assert len(requests) >= 100
    assert {each["args"]["benanza.batch_span"] for each in requests} <= batches


def test_a_framework_that_tells_no_single_execution_is_named(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    trace = evaluation_trace(run(tmp_path, "single-stream", "openvino"), TRACE_ID)
    exported(trace)
    (_, said) = trace_lines(trace)
    assert said.startswith("not looked at layers: the profiler of openvino doesn't tell single")
