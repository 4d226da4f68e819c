"""What limits the step of a small decoder on this CPU: bounds over a sweep."""

from dataclasses import replace
from pathlib import Path

import pytest
from onnx import TensorProto

from benanza.request import RunRequest
from benanza.running.pipeline import run
from benanza.tokens.known import known_generation
from benanza_backbone.settings import Settings, load
from benchmarks.decoders.building import build
from benchmarks.decoders.configurations import DECODERS

pytestmark = pytest.mark.integration

SHORT, LONG = 64, 16_384

SIZES = {"hidden": 256, "heads": 4, "kv_heads": 2, "head_size": 64, "intermediate": 512}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Where a step of one layer has bounds behind a short past and a long one."""
    folder = tmp_path_factory.mktemp("limits")
    llama = next(each for each in DECODERS if each.name.startswith("llama-3.2-1b"))
    decoder = replace(llama, layers=1, vocabulary=2048, bits=32, precision=TensorProto.FLOAT)
    (folder / "step.onnx").write_bytes(build(replace(decoder, **SIZES)).SerializeToString())
    settings = load({"BENANZA_DATA": str(folder / "data")})
    request = RunRequest(
        (str(folder / "step.onnx"),),
        dims={"batch_size": 4, "sequence_length": 1},
        sweep={"past_sequence_length": (SHORT, LONG)},
        derived={"total_sequence_length": "past_sequence_length+1"},
    )
    found = run(request, settings)
    assert found.errors == ()
    assert found.layers.models == 2
    assert found.layers.of_one_model == 2 * 4
    return settings


def test_a_long_past_is_limited_by_what_is_kept(swept: Settings) -> None:
    points = known_generation(swept, None, "step", ["fp32"], {}, None).points
    shares = {
        point.step.dims["past_sequence_length"]: {each.limit: each.share for each in point.limits}
        for point in points
    }
    kept = {past: of.get("cache", 0.0) for past, of in shares.items()}
    assert kept[LONG] > 0.5
    assert kept[LONG] > kept[SHORT]
    assert shares[SHORT]["weights"] > shares[LONG].get("weights", 0.0)


def test_without_a_power_no_energy_is_said(swept: Settings) -> None:
    """Nothing says how much power this CPU takes."""
    for point in known_generation(swept, None, "step", ["fp32"], {}, None).points:
        assert [times.joules_per_token for times in point.times] == [None]
