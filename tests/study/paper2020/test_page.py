"""The bounds that follow from the recording, and that the page has them."""

from pathlib import Path

import pytest

from benanza.importing.import_recordings import import_recordings
from benanza.importing.recording import read_recording
from benanza.looking.bounds import known_bounds
from benanza.looking.compare import known_comparison
from benanza.publishing.publish import PublishRequest, publish
from benanza.request import BoundPolicy, Other
from benanza.settings import load
from benanza_backbone.settings import Settings
from benanza_schemas.events import LayerMeasured
from study.paper2020.page import system_table
from study.paper2020.resnet50 import resnet50_v1
from study.paper2020.text import BEGIN, BESIDE_H200, DIFFERENCES, REASONS
from tests.benanza.recorded import fingerprints, write_quickly

ROOT = Path(__file__).parents[3]
V100_RECORDING, H200_RECORDING = (
    ROOT / "recordings" / name for name in ("nvidia-v100-2019.xz", "nvidia-h200.xz")
)
PAPER = BoundPolicy(("fp32",), fusion=False, accounting="paper")
V100 = "NVIDIA Tesla V100-SXM2-16GB"

BESIDE = ("densenet121", "shufflenet", "alexnet")
"""Of these the recording of today is asked."""

PUBLISHED_US = {
    ("zoo:densenet121", 1): 9693.471,
    ("zoo:shufflenet", 1): 2550.953,
    ("zoo:densenet121", 32): 50216.902,
    ("resnet50_v1", 32): 33682.578,
}
"""The last lines of files below `assets/serial_latency` of rai-project/dlperf."""

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("paper2020")
    (folder / "resnet50_v1.onnx").write_bytes(resnet50_v1().SerializeToString())
    models = [*(f"zoo:{name}" for name in BESIDE), str(folder / "resnet50_v1.onnx")]
    settings = load(folder / "data")
    of_fp32 = folder / "nvidia-h200-fp32.xz"  # The bounds of all precisions would take long.
    wanted = fingerprints((name, batch) for name in BESIDE for batch in (1, 32))
    recorded = (event for _, event in read_recording(H200_RECORDING))
    write_quickly(
        of_fp32,
        [
            event
            for event in recorded
            if not isinstance(event, LayerMeasured)
            or (event.precision == "fp32" and event.fingerprint in wanted)
        ],
    )
    import_recordings([V100_RECORDING, of_fp32], settings)
    assert not publish(models, PublishRequest(batch_sizes=(1, 32)), settings).errors
    return settings


def test_bounds_are_as_published(settings: Settings) -> None:
    bounds = known_bounds(settings, [], PAPER, {}, None).bounds
    found = {(each.model, each.batch): each for each in bounds if each.system == V100}
    for (model, batch), published_us in PUBLISHED_US.items():
        bound = found[model.removeprefix("zoo:"), batch]
        assert not bound.partial
        assert bound.sequential_us == pytest.approx(published_us, abs=0.002)


def test_layers_that_the_results_lack_are_named_with_the_reason(settings: Settings) -> None:
    bounds = known_bounds(settings, ["zoo:alexnet"], PAPER, {}, None).bounds
    (bound,) = (each for each in bounds if (each.system, each.batch) == (V100, 1))
    assert {each.op: each.reason for each in bound.coverage.missing}.keys() == {"MaxPool"}
    assert "paddings of both ends differ" in {each.reason for each in bound.coverage.missing}


def test_a_system_of_then_stands_beside_one_of_today(settings: Settings) -> None:
    bounds = known_bounds(settings, ["zoo:shufflenet"], PAPER, {}, None).bounds
    now = next(each for each in bounds if each.system == "NVIDIA H200" and each.batch == 1)
    other = Other(system=now.system_id)
    found = known_comparison(settings, ["zoo:shufflenet"], PAPER, {}, None, other)
    (compared,) = (each for each in found.bounds if each.bound.batch == 1)
    assert compared.bound.system == V100
    assert compared.ratio == pytest.approx(326.2 / 2551.0, rel=1e-3)


def test_the_page_has_what_the_recordings_give(settings: Settings) -> None:
    page = (ROOT / "docs" / "results" / "paper-2020.md").read_text(encoding="utf-8")
    assert all(part in page for part in (BEGIN, DIFFERENCES, REASONS, BESIDE_H200))
    bounds = known_bounds(settings, ["zoo:densenet121", "zoo:alexnet"], PAPER, {}, None).bounds
    then, now = (
        [each for each in bounds if each.system == system] for system in (V100, "NVIDIA H200")
    )
    lines = list(system_table(then, now))
    assert len(lines) == 6
    assert set(lines) <= set(page.splitlines())
