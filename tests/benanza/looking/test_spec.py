"""What a bound was found with, from the recording of an H200."""

import json
from pathlib import Path

import pytest

from benanza.looking.bounds import known_bounds
from benanza.looking.spec import known_spec, read_spec
from benanza.publishing.publish import PublishRequest, publish
from benanza.request import BoundPolicy
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_runner.onnx_layers.random_values import SEED
from tests.benanza.recorded import recorded_models

pytestmark = pytest.mark.integration

MODEL = "zoo:squeezenet"
FP16 = BoundPolicy(("fp16",))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Where a model has bounds at two batch sizes by the recording."""
    settings = recorded_models(tmp_path_factory.mktemp("spec") / "data")
    publish([MODEL], PublishRequest(batch_sizes=(1, 32)), settings)
    return settings


def test_a_spec_has_the_four_parts_and_the_bound(recorded: Settings) -> None:
    spec = known_spec(recorded, MODEL, FP16, {"batch": 32})
    bounds = known_bounds(recorded, [MODEL], FP16, {}, None).bounds
    (bound,) = (each for each in bounds if each.batch == 32)
    assert (spec.model.source, spec.model.batch, spec.model.dims) == (MODEL, 32, {})
    assert spec.model.sha256 == fetch(MODEL, Limits()).sha256
    assert spec.data.seed == SEED
    assert spec.hardware["accelerator"] == "NVIDIA H200"
    assert {"benanza", "driver", "cudnn", "cupy-cuda13x", "method"} <= spec.software.keys()
    assert all(spec.software.values())
    assert spec.bound.sequential_us == bound.sequential_us
    assert not spec.bound.partial


def test_it_is_of_one_bound(recorded: Settings) -> None:
    with pytest.raises(BenanzaError, match=r"2 such bounds .*batch 1 on .*; batch 32 on .*--batch"):
        known_spec(recorded, MODEL, FP16, {})
    for batch, system in ((7, ""), (32, "no id")):
        with pytest.raises(BenanzaError, match="no such bound of zoo:squeezenet is known"):
            known_spec(recorded, MODEL, FP16._replace(system=system), {"batch": batch})


def test_it_is_read_as_it_was_written(recorded: Settings, tmp_path: Path) -> None:
    spec = known_spec(recorded, MODEL, FP16, {"batch": 1})
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec.to_dict()), encoding="utf-8")
    assert read_spec(file) == spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no spec"),
        ("{}", "is no spec .*version.*benanza spec writes one"),
    ],
)
def test_what_is_no_spec(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "spec.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BenanzaError, match=said):
        read_spec(file)
    with pytest.raises(BenanzaError, match="can't be read"):
        read_spec(tmp_path / "nothing")


def test_specs_of_another_version(recorded: Settings, tmp_path: Path) -> None:
    spec = known_spec(recorded, MODEL, FP16, {"batch": 1}).to_dict() | {"version": 2}
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec), encoding="utf-8")
    with pytest.raises(BenanzaError, match="has version 2 of specs, and this Benanza reads 1"):
        read_spec(file)
