"""The command that writes the decoders."""

import sys
from pathlib import Path

import onnx
import pytest

from benchmarks.decoders import __main__ as command
from benchmarks.decoders.configurations import DECODERS


def test_it_writes_a_file_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["decoders", str(tmp_path / "new")])
    monkeypatch.setattr(command, "DECODERS", DECODERS[:1])
    command.main()
    (path,) = (tmp_path / "new").iterdir()
    assert path.name == f"{DECODERS[0].name}.onnx"
    assert len(onnx.load(path, load_external_data=False).graph.node) > 100
