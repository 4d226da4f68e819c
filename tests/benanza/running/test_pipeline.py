"""A run publishes what its log lacks, and finds what became of it."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from benanza.request import RunRequest
from benanza.results.bounds import LowerBounds
from benanza.running import pipeline
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.settings import Settings
from benanza_ingest import core
from benanza_schemas.topics import DEAD_LETTERS, MODELS
from tests.benanza.data_folder import settings_in
from tests.benanza.publishing.test_asked_models import product
from tests.runner.fake_runtime import FakeRuntime

pytestmark = pytest.mark.integration


def run(request: RunRequest, settings: Settings) -> LowerBounds:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "open_runtime", lambda *_: nullcontext(FakeRuntime()))
        return pipeline.run(request, settings)


def records(settings: Settings, topic: str) -> int:
    with SqliteEventLog(settings.event_log) as log:
        return len(list(log.records(topic)))


def test_what_is_ingested_is_neither_decoded_nor_published_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path / "data")
    model = str(product(tmp_path / "product.onnx", 16))
    request = RunRequest(models=(model, model), batch_sizes=(1, 8), dims={"length": 5})
    first = run(request, settings)
    assert [bound.batch for bound in first.bounds] == [1, 8]
    assert records(settings, MODELS) == 2
    with monkeypatch.context() as patch:
        patch.delattr(pipeline, "binding_of")
        again = run(request, settings)
    assert again.bounds == first.bounds
    assert records(settings, MODELS) == 2
    monkeypatch.setattr(core, "INGEST_VERSION", "another")
    assert run(request, settings).bounds == first.bounds
    assert records(settings, MODELS) == 4


def test_what_cannot_be_published_leaves_nothing_in_the_log(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "data")
    model = str(product(tmp_path / "product.onnx", 16))
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\xff")
    request = RunRequest(models=(model, str(broken)), dims={"lenght": 5})
    found = run(request, settings)
    assert [error.model for error in found.errors] == [model, str(broken)]
    assert "did you mean 'length'" in found.errors[0].reason
    assert "not an ONNX model" in found.errors[1].reason
    assert records(settings, MODELS) == records(settings, DEAD_LETTERS) == 0
