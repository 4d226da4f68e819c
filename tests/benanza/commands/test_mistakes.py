"""Likely mistakes: each ends in one line that says how to mend it."""

from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

from benanza.cli import cli
from tests.benanza.commands.mistakes import FOLDER, MISTAKES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the list says of it."""
    folder = tmp_path_factory.mktemp("mistakes")
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["length", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["length", 4])],
    )
    onnx.save(helper.make_model(graph), folder / "model.onnx")
    (folder / "text.onnx").write_text("This is no model.")
    (folder / "broken.json").write_text("{")
    (folder / "empty").mkdir()
    return folder


def test_there_are_fifty() -> None:
    assert len(MISTAKES) >= 50


@pytest.mark.parametrize(("typed", "mend"), MISTAKES, ids=[typed for typed, _ in MISTAKES])
def test_a_mistake_ends_in_one_line_that_mends_it(
    typed: str, mend: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("BENANZA_DATA", str(folder / "data"))
    for name in ("BENANZA_KAFKA", "BENANZA_CLICKHOUSE"):
        monkeypatch.delenv(name, raising=False)
    done = CliRunner().invoke(cli, typed.replace(FOLDER, str(folder)).split())
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code in (1, 2)
    assert done.stdout == ""
    *usage, line = done.stderr.splitlines()
    assert line.lower().startswith("error: ")
    assert mend in line, line
    assert len(line) <= 300
    if done.exit_code == 1:
        assert usage == []
