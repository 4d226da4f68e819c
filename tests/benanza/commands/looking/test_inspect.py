"""`benanza inspect`: one document on standard output, or a table; errors in one line."""

import json
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from onnx import TensorProto, helper

from benanza.cli import cli

HASH = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
COUNT = {"type": "integer", "minimum": 0}
SHAPES = {"type": "array", "items": {"type": "array", "items": COUNT}}
DOCUMENT = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        *("model_id", "name", "opset", "batch", "layers", "edges", "groups", "unique_layers"),
        *("skipped", "parameters", "notes"),
    ],
    "properties": {
        "parameters": COUNT,
        "notes": {"type": "array", "items": {"type": "string"}},
        "model_id": HASH,
        "name": {"type": "string"},
        "opset": COUNT,
        "batch": {"type": "integer", "minimum": 1},
        "unique_layers": COUNT,
        "edges": {
            "type": "array",
            "items": {"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2},
        },
        "groups": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["fingerprint", "rule", "layers"],
                "properties": {
                    "fingerprint": HASH,
                    "rule": {"type": "string", "minLength": 1},
                    "layers": {"type": "array", "items": COUNT, "minItems": 2},
                },
            },
        },
        "skipped": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["index", "name", "op", "domain", "reason"],
                "properties": {"reason": {"type": "string", "minLength": 1}},
            },
        },
        "layers": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": [
                    *("index", "name", "op", "domain", "fingerprint", "inputs", "outputs"),
                    *("dtype", "attributes", "flops", "bytes", "parameters", "kind", "reason"),
                ],
                "properties": {
                    "index": COUNT,
                    "name": {"type": "string"},
                    "op": {"type": "string", "minLength": 1},
                    "domain": {"type": "string"},
                    "fingerprint": {"type": "string", "pattern": "^([0-9a-f]{32})?$"},
                    "inputs": SHAPES,
                    "outputs": SHAPES,
                    "dtype": {"type": "string"},
                    "attributes": {"type": "object"},
                    "flops": COUNT,
                    "bytes": COUNT,
                    "parameters": COUNT,
                    "kind": {"enum": ["compute", "view", "movement", "skipped"]},
                    "reason": {"type": "string"},
                },
            },
        },
    },
}


def save(path: Path, nodes: list[onnx.NodeProto], shape: list[str | int]) -> Path:
    """A model of float32 tensors of one shape, from `x` to `y`."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("x", "y"))
    graph = helper.make_graph(nodes, "graph", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def inspect(*arguments: str | Path) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["inspect", *map(str, arguments), "--format", "json"])
    assert result.exit_code in (0, 3), result.output
    assert result.stderr.count("\n") == (result.exit_code == 3)
    document: dict[str, Any] = json.loads(result.stdout)
    Draft202012Validator(DOCUMENT).validate(document)
    return document


def test_the_document_of_a_real_model() -> None:
    document = inspect("zoo:squeezenet", "--batch", "4")
    assert document["name"] == "squeezenet"
    assert document["batch"] == 4
    assert document["skipped"] == []
    layers = document["layers"]
    assert len(layers) == 66
    assert layers[0]["op"] == "Conv"
    assert layers[0]["inputs"] == [[4, 3, 224, 224], [64, 3, 3, 3], [64]]
    assert layers[0]["outputs"] == [[4, 64, 111, 111]]
    assert layers[0]["attributes"]["strides"] == [2, 2]
    fingerprints = {layer["fingerprint"] for layer in layers}
    assert document["unique_layers"] == len(fingerprints)


def test_named_dimensions_are_bound(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], ["batch", "length"])
    layers = inspect(path, "--batch", "2", "--dim", "length=7")["layers"]
    assert layers[0]["outputs"] == [[2, 7]]


def test_a_skipped_layer_is_in_the_document_with_its_reason(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], ["batch", "length"])
    document = inspect(path)
    (skipped,) = document["skipped"]
    assert "--dim length=N" in skipped["reason"]
    text = CliRunner().invoke(cli, ["inspect", str(path)])
    assert text.exit_code == 3, "all layers are skipped"
    assert "--dim length=N" in text.stdout
    assert text.stderr.startswith("all layers are skipped; the first: Relu: ")
    assert text.stderr.endswith("give --dim length=N\n")


def test_the_value_that_a_skipped_if_asks_for_can_be_given_as_it_says(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[4] x, bool v) => (float[4] y)'
        " { y = If (v) <then_branch = t () => (float[4] a) { a = Relu(x) },"
        " else_branch = e () => (float[4] b) { p = Exp(x) b = Neg(p) }> }"
    )
    model.graph.input[1].name = model.graph.node[0].input[0] = "it's on"
    onnx.save(model, tmp_path / "choice.onnx")
    path = str(tmp_path / "choice.onnx")
    skipped = CliRunner().invoke(cli, ["inspect", path]).stdout.splitlines()[-1]
    asked = shlex.split(skipped.rpartition("; give ")[2])
    assert asked == ["--value", "it's on=VALUE"]
    for value, operators in (("true", ["Relu"]), ("false", ["Exp", "Neg"])):
        words = [word.replace("VALUE", value) for word in asked]
        document = inspect(path, *words)
        assert [layer["op"] for layer in document["layers"]] == operators


def test_only_if_all_layers_are_skipped_it_ends_with_status_3(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["z"]), helper.make_node("NonZero", ["z"], ["y"])]
    for first, status in ((nodes[0], 0), (helper.make_node("Strange", ["x"], ["z"]), 3)):
        path = save(tmp_path / "m.onnx", [first, nodes[1]], [2])
        for output in ("text", "json"):
            found = CliRunner().invoke(cli, ["inspect", str(path), "--format", output])
            assert found.exit_code == status, found.output


def test_an_infinite_attribute_is_valid_json(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Constant", [], ["c"], value_float=float("inf")),
        helper.make_node("LeakyRelu", ["x"], ["z"], alpha=float("-inf")),
        helper.make_node("Min", ["z", "c"], ["y"]),
    ]
    layers = inspect(save(tmp_path / "m.onnx", nodes, [2]))["layers"]
    assert layers[0]["attributes"] == {"alpha": "-inf"}


def test_a_table_in_a_pipe_has_a_line_for_each_layer() -> None:
    result = CliRunner().invoke(cli, ["inspect", "zoo:alexnet"])
    lines = result.stdout.splitlines()
    assert lines[0].split() == [
        *("#", "layer", "operator", "kind", "output", "type", "FLOPs", "moves", "parameters")
    ]
    assert "1×1000" in lines[-2]
    assert lines[-1].startswith("alexnet, opset 9, batch 1: 24 layers, ")
    assert len(lines) == 26


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not an ONNX model"),
        (np.random.default_rng(7).bytes(1000), "not an ONNX model"),
    ],
)
def test_a_bad_file_is_one_line_that_names_it(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    result = CliRunner().invoke(cli, ["inspect", str(path)])
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {path}: ")
    assert words in line


def test_a_file_that_is_not_there_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "missing.onnx"
    result = CliRunner().invoke(cli, ["inspect", str(path)])
    assert result.exit_code == 1
    assert result.stderr.count(str(path)) == 1


def test_a_setting_limits_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENANZA_MAX_MODEL_BYTES", "1000")
    result = CliRunner().invoke(cli, ["inspect", "zoo:alexnet"])
    assert result.exit_code == 1
    assert "BENANZA_MAX_MODEL_BYTES" in result.stderr


def test_layers_that_are_skipped_for_one_reason_are_one_line(tmp_path: Path) -> None:
    names = ["x", *(f"z{at}" for at in range(30)), "y"]
    nodes = [helper.make_node("Abs", [a], [b]) for a, b in pairwise(names)]
    path = save(tmp_path / "m.onnx", nodes, ["batch", "length"])
    assert len(inspect(path)["skipped"]) == 31
    text = CliRunner().invoke(cli, ["inspect", str(path)]).stdout
    (said,) = (line for line in text.splitlines() if line.startswith("skipped: "))
    assert said.startswith("skipped: 31 layers, z0 (Abs), z1 (Abs), z2 (Abs) and 28 more: ")
    assert "--dim length=N" in said


def test_layers_without_elements_are_one_line(tmp_path: Path) -> None:
    nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Exp", ["a"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, ["batch", "past"])
    text = CliRunner().invoke(cli, ["inspect", str(path), "--dim", "past=0"]).stdout
    (said,) = (line for line in text.splitlines() if line.startswith("free: "))
    assert said.startswith("free: 2 layers, a (Neg), ")
    assert "its results have no elements" in said


def test_what_is_named_in_reasons_does_not_tell_them_apart(tmp_path: Path) -> None:
    """Each input of text is named in the reason of what reads it."""

    def value(name: str, kind: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, [2])

    x, y = (value(name, TensorProto.FLOAT) for name in ("x", "y"))
    texts = [value(f"s{number}", TensorProto.STRING) for number in range(9)]
    nodes = [helper.make_node("StringNormalizer", [each.name], [f"y{each.name}"]) for each in texts]
    outputs = [value(node.output[0], TensorProto.STRING) for node in nodes]
    nodes.append(helper.make_node("Relu", ["x"], ["y"]))
    graph = helper.make_graph(nodes, "graph", [x, *texts], [*outputs, y])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    found = CliRunner().invoke(cli, ["inspect", str(path)])
    assert found.exit_code == 0
    (said,) = (line for line in found.stdout.splitlines() if line.startswith("skipped: "))
    assert said.startswith("skipped: 9 layers, ys0 (StringNormalizer), ")
