"""What the options of derived models take, and what is published with them."""

from pathlib import Path

import click
import onnx
import pytest
from click.testing import CliRunner

from benanza.cli import cli
from benanza.commands.deriving import QuantisedTypes
from benanza_schemas.events.derivation import Derivation
from tests.benanza.commands.publishing.test_publish import published
from tests.ingest.deriving.small_models import mlp


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BENANZA_DATA", str(tmp_path / "data"))
    onnx.save(mlp().made("y"), tmp_path / "mlp.onnx")
    return str(tmp_path / "mlp.onnx")


def test_types_are_named_once_each() -> None:
    assert QuantisedTypes().convert("int4,fp8,int4", None, None) == ("int4", "fp8")


@pytest.mark.parametrize("text", ["", "int3", "int4,", "INT8"])
def test_other_types_are_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is none of int8, fp8, int4"):
        QuantisedTypes().convert(text, None, None)


def test_each_combination_is_published_under_its_own_name_and_id(model: str) -> None:
    command = ["publish", model, "--quantised", "int4,int8", "--tensor-parallel", "1,2"]
    assert CliRunner().invoke(cli, command, catch_exceptions=False).exit_code == 0
    events = published()
    assert [event.name for event in events] == [
        "mlp",
        "mlp on 2 GPUs",
        "mlp int4",
        "mlp int4 on 2 GPUs",
        "mlp int8",
        "mlp int8 on 2 GPUs",
    ]
    assert events[3].derivation() == Derivation("int4", 2)
    assert len({event.event_id for event in events}) == 6
    assert len({event.sha256 for event in events}) == 1


def test_as_it_is_written_a_model_keeps_its_id(model: str) -> None:
    for more in ([], ["--quantised", "int4"]):
        assert CliRunner().invoke(cli, ["publish", model, *more]).exit_code == 0
    first, again, derived = published()
    assert first == again
    assert derived.event_id != first.event_id


def test_inspect_shows_one_of_them_and_what_stays_in_floats(model: str) -> None:
    done = CliRunner().invoke(cli, ["inspect", model, "--quantised", "int4"])
    assert "com.microsoft.MatMulNBits" in done.output
    assert "mlp int4, opset 21, batch 3: 5 layers" in done.output
    assert "3 products in int4" in done.output


def test_what_cannot_be_derived_is_an_error(model: str) -> None:
    done = CliRunner().invoke(cli, ["inspect", model, "--quantised", "int3"])
    assert done.exit_code == 2
    assert "int3" in done.output
