"""`benanza layers`, and the same in Python."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import benanza
from benanza.cli import cli
from benanza_backbone.clickhouse.store import Store
from tests.backbone.conftest import copy_empty_store
from tests.backbone.sample_events import CONV_ID, CONV_RELU_ID, EVERY_KIND, RELU_ID

pytestmark = pytest.mark.integration


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that services keep."""
    dsn = copy_empty_store(tmp_path / "clickhouse")
    monkeypatch.setenv("BENANZA_KAFKA", "127.0.0.1:9")
    monkeypatch.setenv("BENANZA_CLICKHOUSE", dsn)
    with Store.open(dsn) as store:
        store.insert(EVERY_KIND)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["layers", *arguments])


def fingerprints(*arguments: str) -> list[str]:
    found = json.loads(run(*arguments, "--format", "json").stdout)
    return [layer["fingerprint"] for layer in found["layers"]]


@pytest.mark.usefixtures("stored")
def test_layers_as_json_as_a_table_and_in_python() -> None:
    assert fingerprints() == fingerprints("Net") == [CONV_ID, RELU_ID, CONV_RELU_ID]
    assert fingerprints("--limit", "1") == [CONV_ID]
    found = benanza.layers("Net", precision="fp32")
    said = run("Net", "--precision", "fp32", "--format", "json")
    assert found.to_dict() == json.loads(said.stdout)
    assert "the runtime can&#x27;t fuse it" in found._repr_html_()
    at_fp16 = benanza.layers(precision=["fp16", "bf16"])
    assert [layer.times for layer in at_fp16.layers] == [(), (), ()]
    shown = run("--limit", "2")
    assert shown.exit_code == 0
    _, conv, relu, on = shown.stdout.splitlines()
    assert conv.split()[-4:] == ["10.2", "10.2", "onnxruntime:", "gemm"]
    assert relu.split()[-4:] == ["2.5", "5.0", "onnxruntime:", "default"]
    assert on.startswith("2 unique layers, 1 group, measured on Some CPU with onnxruntime at fp32")


def test_a_model_that_is_not_known_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BENANZA_KAFKA", raising=False)
    done = run("missing.onnx", "--data", str(tmp_path))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: nothing is known of missing.onnx, and there is no")
    with pytest.raises(benanza.BenanzaError, match="nothing is known of missing"):
        benanza.layers(["missing.onnx"], data=tmp_path)


def test_what_can_not_be_asked_is_refused() -> None:
    assert run("--limit", "0").exit_code == 2
    assert run("--precision", "fp8").exit_code == 2
    with pytest.raises(benanza.BenanzaError, match="precision"):
        benanza.layers(precision="fp8")  # type: ignore[arg-type]


def test_a_new_folder_has_no_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENANZA_KAFKA", raising=False)
    done = run("--data", str(tmp_path))
    assert done.exit_code == 1
    assert done.stderr == (
        "error: no layers are known; say: benanza run MODEL, or benanza publish MODEL\n"
    )
