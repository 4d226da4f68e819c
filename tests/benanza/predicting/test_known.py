"""Bounds that are predicted from recorded measurements."""

import json
import sys
from pathlib import Path

import pytest

from benanza import bounds
from benanza.looking.bounds import known_bounds
from benanza.predicting.known import known_predictions
from benanza.predicting.specification import SHEETS, known_sheets
from benanza.render.answers.predicted import print_predictions
from benanza.render.table import console
from benanza.request import BoundPolicy
from benanza_analyzer.prediction.error_bars import OTHER_CAPABILITY, SAME_CAPABILITY
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from tests.benanza.conftest import Benanza
from tests.benanza.recorded import recorded_models

pytestmark = pytest.mark.integration

FP16 = BoundPolicy(("fp16",))
H200 = known_sheets()["NVIDIA H200"]
H100 = known_sheets()["NVIDIA H100 80GB HBM3"]
V100 = known_sheets()["NVIDIA Tesla V100-SXM2-16GB"]
TWIN = H200._replace(name="its twin")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return recorded_models(tmp_path_factory.mktemp("predicted") / "data")


def test_the_twin_of_a_gpu_has_its_bounds(recorded: Settings) -> None:
    models = ["squeezenet", "inception_v1"]
    measured = known_bounds(recorded, models, FP16, {}, None).bounds
    found = known_predictions(recorded, models, FP16, {}, TWIN)
    assert [bound.model for bound in found.predicted] == [bound.model for bound in measured]
    for bound, there in zip(found.predicted, measured, strict=True):
        assert bound.predicted_sequential_us == pytest.approx(there.sequential_us)
        assert bound.predicted_parallel_us == pytest.approx(there.parallel_us)
        assert bound.measured_there_us == there.sequential_us
        assert (bound.learned_from, bound.learned_from_id) == (there.system, there.system_id)
        assert bound.error_bar == SAME_CAPABILITY.factor
        assert bound.low_us < bound.predicted_sequential_us < bound.high_us
        assert bound.partial == there.partial is False


def test_a_slower_memory_makes_what_reads_it_slower_alone(recorded: Settings) -> None:
    """Alexnet's weights are larger than the cache, squeezenet's are not."""
    twin, slower = (
        {bound.model: bound.predicted_sequential_us for bound in found.predicted}
        for found in (
            known_predictions(recorded, ["alexnet", "squeezenet"], FP16, {}, gpu)
            for gpu in (TWIN, TWIN._replace(memory=H100.memory))
        )
    )
    assert slower["alexnet"] > 1.05 * twin["alexnet"]
    assert slower["squeezenet"] == twin["squeezenet"]


def test_another_capability_has_the_wider_bar(recorded: Settings) -> None:
    (bound,) = known_predictions(recorded, ["squeezenet"], FP16, {}, V100).predicted
    assert bound.error_bar == OTHER_CAPABILITY.factor
    assert bound.high_us == pytest.approx(bound.predicted_sequential_us * OTHER_CAPABILITY.factor)
    assert bound.predicted_sequential_us > bound.measured_there_us


def test_what_can_not_be_predicted_is_said(recorded: Settings) -> None:
    with pytest.raises(BenanzaError, match="it is the GPU itself, and has measured bounds"):
        known_predictions(recorded, ["squeezenet"], FP16, {}, H200)
    with pytest.raises(BenanzaError, match=r"has no rate of bf16; add it below \[matrix\]"):
        known_predictions(recorded, ["squeezenet"], BoundPolicy(("bf16",)), {}, V100)
    found = known_predictions(recorded, ["squeezenet"], BoundPolicy(()), {}, V100)
    assert {bound.precision for bound in found.predicted} == {"fp16", "fp32"}
    assert {each.precision for each in found.not_predicted} == {"tf32", "bf16"}
    with pytest.raises(BenanzaError, match="nothing was measured that a bound could be"):
        known_predictions(recorded, (), FP16, {"batch": 99}, V100)


def test_predicted_bounds_are_called_so_and_not_kept(
    recorded: Settings, benanza: Benanza, capsys: pytest.CaptureFixture[str]
) -> None:
    options = "--precision", "fp16", "--data", recorded.data
    before = benanza("bounds", *options).stdout
    done = benanza(
        *("bounds", "squeezenet", *options, "--on", SHEETS / "nvidia-h100-sxm.toml"),
        *("--format", "json"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    (bound,) = json.loads(done.stdout)["predicted"]
    assert benanza("bounds", *options).stdout == before
    sheet = SHEETS / "nvidia-h100-sxm.toml"
    found = bounds("squeezenet", precision="fp16", on=sheet, data=recorded.data)
    assert found.to_dict()["predicted"] == [bound]
    print_predictions(console(sys.stdout), found)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[2:4] == ["predicted", "sequential"]
    assert lines[2].startswith(
        "predicted for NVIDIA H100 80GB HBM3 (data sheet) at fp16, from what"
    )


def test_wrong_uses_are_refused(benanza: Benanza, recorded: Settings, tmp_path: Path) -> None:
    done = benanza("bounds", "--data", recorded.data, "--on", tmp_path / "none.toml")
    assert done.returncode == 1
    assert "can't be read" in done.stderr
    both = "--on", tmp_path / "none.toml", "--compare", "precision=bf16"
    done = benanza("bounds", "--data", recorded.data, *both)
    assert done.returncode == 2
    assert "--on predicts from what is known now" in done.stderr
