"""An evaluation is in the log before anything is made of it."""

from pathlib import Path

import onnx
import pytest

from benanza.evaluating import evaluate as module
from benanza.evaluating.command import evaluate
from benanza.evaluating.request import EvaluationRequest
from benanza.installation.embedded import opened_log
from benanza.spans.records import written
from benanza.spans.trace import SpanTrace
from benanza_backbone.errors import BenanzaError
from benanza_schemas.events import ModelEvaluated
from benanza_schemas.topics import EVALUATED
from tests.benanza.data_folder import settings_in
from tests.benanza.installation.test_without_engine import engine_missing

RELU = """
<ir_version: 10, opset_import: ["" : 21]>
g (float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }
"""


def test_it_is_stored_even_if_its_trace_can_t_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SERVICE_S", 0.01)
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(RELU).SerializeToString())
    settings = settings_in(tmp_path / "data")

    def full(trace: SpanTrace) -> None:
        raise BenanzaError(f"no room for {trace.trace_id}")

    with pytest.raises(BenanzaError, match="no room for ") as raised:
        evaluate(EvaluationRequest(model=str(path), duration_s=0.02), settings, tell=full)
    with opened_log(settings) as log:
        (stored,) = written(log, EVALUATED, ModelEvaluated).values()
    assert stored.event.evaluation_id in str(raised.value)
    assert stored.event.failure == ""


def test_it_needs_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SERVICE_S", 0.01)
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(RELU).SerializeToString())
    with engine_missing():
        found = evaluate(
            EvaluationRequest(model=str(path), duration_s=0.02), settings_in(tmp_path / "data")
        )
    assert found.evaluation.failure == ""
    assert "say: benanza run " in found.without_bound
