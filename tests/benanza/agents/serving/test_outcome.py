"""An evaluation's request and result, as events hold them, and the process between the two."""

from math import inf, nan
from pathlib import Path

import msgspec
import onnx
import pytest

from benanza.agents.core import EvaluationOutcome
from benanza.agents.options import options_of, request_of
from benanza.agents.serving import worker
from benanza.agents.serving.isolated import evaluate_apart
from benanza.agents.serving.messages import EvaluateModel, ModelWasEvaluated, answered, encoder
from benanza.agents.serving.worker import evaluated_in_file
from benanza.evaluating.request import EvaluationRequest, Seeds
from benanza.onnxruntime.framework import OnnxRuntimeFramework
from benanza.spans.of_requests import on_system
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


def evaluate(event: EvaluationRequested, path: Path) -> tuple[dict[str, float], str, str]:
    numbers = LIMITS.model_bytes, LIMITS.nodes, LIMITS.tensor_elements
    figures, report, failure = evaluated_in_file(EvaluateModel(event, str(path), *numbers))
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
        assert evaluate(event, path)[2] == ""
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
        worker, "evaluated_in_file", lambda request: EvaluationOutcome(failure="f" * 10_000)
    )
    answer = worker._answer(EvaluateModel(requested(system()), "", 0, 0, 0))
    assert answer == ModelWasEvaluated({}, "", "f" * 8_192)
    assert decoded(encoder.encode(answer), answered) == answer
