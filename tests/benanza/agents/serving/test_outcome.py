"""An evaluation's request and result, as events hold them, and the process between the two."""

from math import inf, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import onnx
import pytest

from benanza.agents.core import EvaluationOutcome
from benanza.agents.options import options_of, request_of
from benanza.agents.serving import worker
from benanza.agents.serving.isolated import evaluate_apart
from benanza.agents.serving.messages import (
    EvaluateModel,
    ExportTrace,
    ModelWasEvaluated,
    TraceExported,
    answered,
    encoder,
)
from benanza.agents.serving.worker import EvaluationWorker, InFile, evaluated_in_file
from benanza.evaluating.request import EvaluationRequest, Seeds
from benanza.onnxruntime.framework import OnnxRuntimeFramework
from benanza.spans.of_requests import on_system
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.worker.frames import FrameError
from benanza_backbone.worker.process import decoded
from benanza_ingest.limits import Limits
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import EvaluationRequested
from tests.benanza.agents.samples import requested, system
from tests.benanza.spans.collector import collecting

LIMITS = Limits()


def asked(request: EvaluationRequest) -> EvaluationRequested:
    return msgspec.structs.replace(
        requested(system()),
        scenario=request.scenario,
        precision=request.precision,
        options=options_of(request),
    )


def in_file(event: EvaluationRequested, path: Path) -> EvaluateModel:
    numbers = LIMITS.model_bytes, LIMITS.nodes, LIMITS.tensor_elements
    return EvaluateModel(event, str(path), *numbers)


def evaluate(event: EvaluationRequested, path: Path) -> tuple[dict[str, float], str, str]:
    (figures, report, failure), _ = evaluated_in_file(in_file(event, path))
    return dict(figures), report, failure


def test_what_is_asked_survives_as_an_event() -> None:
    request = EvaluationRequest(
        model="m.onnx", scenario="server", seeds=Seeds(schedule=3), rate_per_s=12.5, max_batch=4
    )
    event = decode(encode(asked(request)))
    assert isinstance(event, EvaluationRequested)
    assert request_of(event, "m.onnx") == request


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"colour": '"red"'}, "this agent's version of benanza knows no colour; upgrade it"),
        ({"max_batch": '"many"'}, "its options can't be read: Expected `int`"),
        ({"max_batch": "{"}, "its options can't be read: "),
    ],
)
def test_options_of_another_version_are_refused(options: dict[str, str], why: str) -> None:
    with pytest.raises(BenanzaError, match=why):
        request_of(msgspec.structs.replace(requested(system()), options=options), "m.onnx")


def test_a_model_is_evaluated_to_figures_with_units(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(RELU).SerializeToString())
    figures, report, failure = evaluate(asked(EvaluationRequest(model="", duration_s=0.05)), path)
    assert failure == ""
    assert 0 < figures["p50_us"] <= figures["p99_us"]
    assert figures["per_s"] > 0
    assert figures["queries"] >= 64
    assert '"loadgen"' in report
    assert '"samples_us": []' in report


def test_its_trace_is_within_that_of_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(RELU).SerializeToString())
    event = asked(EvaluationRequest(model="", duration_s=0.02))
    of = OnnxRuntimeFramework().system()
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "agents")
        evaluating = EvaluationWorker()
        evaluating.answer(in_file(event, path))
        assert collector.spans() == []
        assert evaluating.answer(ExportTrace()) == TraceExported()
    spans = collector.spans()
    assert {span.trace_id.hex() for span in spans} == {event.event_id}
    ids = {span.span_id for span in spans}
    (first, *_), within = spans, [span for span in spans if span.parent_span_id in ids]
    assert first.name == "evaluate model"
    assert first.parent_span_id.hex() == on_system(event.event_id, of.system_id)
    assert len(within) == len(spans) - 1
    assert "Relu" in {span.name for span in within}
    ((_, request), *_) = collector.received
    (resource,) = request.resource_spans
    said = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert said["service.name"] == "agents"


def test_an_evaluation_stands_whatever_becomes_of_its_trace(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its process answers once, and is killed while it looks."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    outcome = evaluate_apart(requested(system()), Path(), LIMITS, (), "tests.agents.ends_early")
    assert outcome == EvaluationOutcome({"p50_us": 1.0})
    assert caplog.messages == [
        "the trace of an evaluation was not exported: the process was ended by SIGKILL, "
        "as the system does when memory runs out"
    ]


def test_what_goes_wrong_in_an_export_is_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object, __: object) -> None:
        raise ValueError("no number")

    monkeypatch.setattr(worker, "export_asked", fails)
    monkeypatch.setattr("benanza.spans.of_evaluation.evaluation_trace", lambda *_: None)
    evaluation = SimpleNamespace(system=system(), evaluated_at=now())
    run: Any = SimpleNamespace(evaluation=evaluation)
    outcome = EvaluationOutcome({"p50_us": 1.0})
    monkeypatch.setattr(worker, "evaluated_in_file", lambda _: InFile(outcome, run))
    evaluating = EvaluationWorker()
    evaluating.answer(EvaluateModel(requested(system()), "", 0, 0, 0))
    assert evaluating.answer(ExportTrace()) == TraceExported("ValueError: no number")


RELU = """
<ir_version: 10, opset_import: ["" : 21]>
g (float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }
"""


def test_what_is_no_model_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    figures, report, failure = evaluate(asked(EvaluationRequest(model="")), path)
    assert (figures, report) == ({}, "")
    assert "not an ONNX model" in failure


def test_a_process_that_ends_is_a_failure_with_its_last_words(tmp_path: Path) -> None:
    outcome = evaluate_apart(requested(system()), tmp_path, LIMITS, (), module="tests.nowhere")
    assert "No module named tests.nowhere" in outcome.failure


@pytest.mark.parametrize(
    ("figures", "report", "failure"),
    [
        ({"p50_us": nan}, "", ""),
        ({"p50_us": inf}, "", ""),
        ({"p50_us": 2.0**54}, "", ""),
        ({}, "r" * 1_000_001, ""),
        ({}, "", "f" * 8_193),
    ],
)
def test_an_answer_that_no_event_can_hold_is_none(
    figures: dict[str, float], report: str, failure: str
) -> None:
    with pytest.raises(FrameError):
        decoded(encoder.encode(ModelWasEvaluated(figures, report, failure)), answered)


def test_a_long_failure_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        worker,
        "evaluated_in_file",
        lambda request: InFile(EvaluationOutcome(failure="f" * 10_000)),
    )
    answer = EvaluationWorker().answer(EvaluateModel(requested(system()), "", 0, 0, 0))
    assert answer == ModelWasEvaluated({}, "", "f" * 8_192)
    assert decoded(encoder.encode(answer), answered) == answer
