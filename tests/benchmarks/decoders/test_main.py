"""The command that writes the decoders."""

import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from benanza_ingest.decoders.configurations import DECODERS
from benchmarks.decoders import __main__ as command
from benchmarks.real_files import listed

FLOAT16 = TensorProto.FLOAT16
LISTING = "decoders.tsv"


def written(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> onnx.ModelProto:
    """The first decoder's file."""
    monkeypatch.setattr(sys, "argv", ["decoders", *arguments])
    monkeypatch.setattr(command, "DECODERS", DECODERS[:1])
    command.main()
    folder = Path(arguments[0])
    assert {path.name for path in folder.iterdir()} == {f"{DECODERS[0].name}.onnx", LISTING}
    return onnx.load(folder / f"{DECODERS[0].name}.onnx", load_external_data=False)


def test_it_writes_a_file_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = written([str(tmp_path / "new")], monkeypatch)
    assert len(model.graph.node) > 100


def test_small_ones_have_two_layers_and_no_float16(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = written([str(tmp_path), "--small"], monkeypatch)
    attentions = [node for node in model.graph.node if node.op_type == "GroupQueryAttention"]
    assert len(attentions) == 2
    values = [*model.graph.input, *model.graph.output]
    assert FLOAT16 not in {value.type.tensor_type.elem_type for value in values}
    assert FLOAT16 not in {weight.data_type for weight in model.graph.initializer}


def test_the_listing_names_the_files_and_sizes_that_they_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = written([str(tmp_path), "--small"], monkeypatch)
    (file,) = listed(tmp_path / LISTING, split="")
    assert file.path == tmp_path / f"{DECODERS[0].name}.onnx"
    shapes = [value.type.tensor_type.shape.dim for value in model.graph.input]
    assert set(file.dims) == {
        dim.dim_param for shape in shapes for dim in shape if dim.dim_param
    } - {"batch_size"}
