"""A file whose name isn't UTF-8 is a file like any other."""

import json
import os
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from tests.benanza.conftest import Benanza

pytestmark = pytest.mark.integration


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / os.fsdecode(b"odd\xff.onnx")
    path.write_bytes(model.SerializeToString())
    return path


def test_it_is_inspected_published_measured_and_found(
    program: Benanza, odd: Path, data: Path, tmp_path: Path
) -> None:
    for command in ("inspect", "publish", "run", "bounds", "spec"):
        where = () if command == "inspect" else ("--data", data)
        as_json = () if command == "spec" else ("--format", "json")
        done = program(command, odd, *as_json, *where)
        assert done.returncode == 0, done.stderr
        assert "udcff" in json.dumps(json.loads(done.stdout))
    assert "odd\\udcff" in program("bounds", "--data", data).stdout
    address = f"file://{tmp_path}/odd%FF.onnx"
    assert "odd\\udcff" in program("bounds", address, "--data", data).stdout
    out = tmp_path / os.fsdecode(b"out\xfe.html")
    assert program("report", odd, "-o", out, "--data", data).returncode == 0
    assert out.stat().st_size > 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", b"missing\xff.onnx"),
        ("publish", b"missing\xff.onnx", "--format", "json"),
        ("run", b"s3://bucket/\xff.onnx"),
        ("run", b"http://127.0.0.1:1/\xff.onnx"),
        ("run", b"zoo:\xff"),
        ("import", b"missing\xff.xz"),
        ("bounds", "--data", b"/tmp/\xff"),
        ("publish", "--zoo", b"\xff", "zoo:squeezenet"),
    ],
)
def test_what_is_not_there_or_not_text_is_refused_in_a_line(
    program: Benanza, tmp_path: Path, arguments: tuple[str | bytes, ...]
) -> None:
    words = [os.fsdecode(each) for each in arguments]
    data = () if "--data" in words or words[0] == "inspect" else ("--data", tmp_path / "data")
    done = program(*words, *data)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines() or [done.stdout]
    assert "\\udcff" in line
    assert "Traceback" not in line
