import sys
from pathlib import Path

import pytest

from benanza.importing.recording import read_recording
from benanza.onnxruntime.framework import OnnxRuntimeFramework
from benanza.onnxruntime.options import ON_CPU
from benanza.profiling.framework import Configuration, Framework
from benanza.profiling.whole_model import WholeModel
from benanza_schemas.events import ModelProfiled
from benchmarks.record_profiles import main
from tests.benanza.profiling.framework_contract import SMALL
from tests.ingest.onnx_text import content

pytestmark = pytest.mark.integration


def recorded(
    file: Path, model: Path, monkeypatch: pytest.MonkeyPatch, *options: str
) -> list[ModelProfiled]:
    monkeypatch.setattr(sys, "argv", ["record_profiles", str(file), str(model), *options])
    main()
    events = [event for _, event in read_recording(file)] if file.exists() else []
    assert all(isinstance(event, ModelProfiled) for event in events)
    return events  # type: ignore[return-value]


def test_each_configuration_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, file = tmp_path / "small.onnx", tmp_path / "profiles.xz"
    model.write_bytes(content(SMALL))
    found = recorded(file, model, monkeypatch)
    assert [event.configuration for event in found] == [each.name for each in ON_CPU]
    assert all(event.times and event.calls for event in found)
    assert recorded(file, model, monkeypatch) == found


def test_what_there_was_no_time_for_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "small.onnx"
    model.write_bytes(content(SMALL))
    assert recorded(tmp_path / "profiles.xz", model, monkeypatch, "--seconds", "-1") == []
    assert f"{len(ON_CPU)} runs were not begun" in capsys.readouterr().out


@pytest.mark.parametrize("batch", ["x", "0", "1,"])
def test_a_wrong_batch_is_refused(
    batch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "small.onnx"
    model.write_bytes(content(SMALL))
    with pytest.raises(SystemExit):
        recorded(tmp_path / "profiles.xz", model, monkeypatch, "--batch", batch)
    assert "give whole numbers from 1" in capsys.readouterr().err


def test_what_makes_no_difference_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_the_first(_: Framework, model: WholeModel, configuration: Configuration) -> bool:
        assert model.weights
        return configuration == ON_CPU[0]

    monkeypatch.setattr(OnnxRuntimeFramework, "matters", only_the_first)
    model = tmp_path / "small.onnx"
    model.write_bytes(content(SMALL))
    (found,) = recorded(tmp_path / "profiles.xz", model, monkeypatch)
    assert found.configuration == ON_CPU[0].name
