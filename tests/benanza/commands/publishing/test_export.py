"""`benanza export`."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from benanza.cli import cli
from benanza.pytorch.metadata import BATCH, MODEL, properties


def test_without_pytorch_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "benanza.pytorch.export", raising=False)
    result = CliRunner().invoke(cli, ["export", "resnet50", "-o", str(tmp_path / "a.onnx")])
    assert result.exit_code == 1
    assert "pip install 'benanza[pytorch]'" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("keras:resnet50", "no package 'keras'"),
        ("transformers:nothing", "has no configuration here"),
        ("timm", "stands for 39 models; name one, such as timm:"),
    ],
)
def test_what_is_not_the_name_of_a_model(name: str, reason: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["export", name, "-o", str(tmp_path / "a.onnx")])
    assert result.exit_code == 1
    assert reason in result.stderr


@pytest.mark.slow
def test_a_model_is_written_and_can_be_inspected(tmp_path: Path) -> None:
    for package in ("torch", "timm", "onnxscript"):
        pytest.importorskip(package)
    path = tmp_path / "a.onnx"
    result = CliRunner().invoke(cli, ["export", "timm:test_resnet", "-o", str(path), "--batch=2"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"wrote {path}: ")
    from onnx import load

    found = properties(load(path, load_external_data=False))
    assert found == {MODEL: "timm:test_resnet", BATCH: "2"}
    assert CliRunner().invoke(cli, ["inspect", str(path)]).exit_code == 0


@pytest.mark.slow
def test_what_pytorch_does_not_know_is_one_line(tmp_path: Path) -> None:
    for package in ("torch", "torchvision"):
        pytest.importorskip(package)
    result = CliRunner().invoke(cli, ["export", "nothing", "-o", str(tmp_path / "a.onnx")])
    assert result.exit_code == 1
    assert result.stderr == "error: nothing can't be exported: ValueError: Unknown model nothing\n"
