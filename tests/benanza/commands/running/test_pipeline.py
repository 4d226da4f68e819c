"""`benanza pipeline` and `benanza evaluate --spec`: from a model and images to an exit status."""

import json
from pathlib import Path

import pytest

from benanza.commands.options import FAILED, PARTIAL
from benanza.evaluating import evaluate
from benanza_backbone.errors import BenanzaError
from tests.benanza.conftest import Benanza
from tests.benanza.pipelines.conftest import DIGITS

MODEL, IMAGES = DIGITS / "model.onnx", DIGITS / "images"


def test_a_draft_is_run_recorded_and_repeated(benanza: Benanza, tmp_path: Path) -> None:
    done = benanza("pipeline", MODEL, IMAGES, "--batch", "8")
    assert (done.returncode, done.stderr) == (0, "")
    spec, recorded = tmp_path / "pipeline.toml", tmp_path / "in" / "recorded.toml"
    text = done.stdout.replace("mean = 0.0\nstd = 1.0", "mean = 0.5\nstd = 0.25")
    spec.write_text(text.replace("    32,\n    32,\n", "    36,\n    36,\n"))
    done = benanza("evaluate", "--spec", spec)
    assert done.returncode == 1
    assert "40 samples failed, and aren't right:" in done.stdout
    assert "the steps make float32 of 3 x 36 x 36, and the model takes float32 of 3 x 32" in (
        done.stdout
    )

    spec.write_text(text)
    recorded.parent.mkdir()
    done = benanza("evaluate", "--spec", spec, "--record", recorded)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{MODEL} on 40 samples of {IMAGES}, batch 8: as specified" in done.stdout
    done = benanza("evaluate", "--spec", recorded, "--format", "json")
    assert done.returncode == 0
    said = json.loads(done.stdout)
    assert said["same_predictions"] is True
    assert said["accuracies"][0]["share"] == said["accuracies"][0]["recorded_share"]

    recorded.write_text(recorded.read_text().replace('colours = "RGB"', 'colours = "BGR"', 1))
    done = benanza("evaluate", "--spec", recorded)
    assert done.returncode == 1
    assert "pitfall: swapped colour channels: specified BGR, recorded RGB" in done.stdout
    assert "differs from the recorded" in done.stdout
    assert "  steps[1]: decode library=pillow colours=BGR jpeg=exact | decode" in done.stdout


def test_a_scenario_that_is_not_valid_sets_the_status_and_accuracy_is_kept(
    benanza: Benanza, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = '[scenario]\nname = "server"\nduration_s = 0.05\nmax_batch = 1\n'
    slow = "rate_per_s = 5_000.0\nlimit_us = 1.0\n"
    spec, recorded = tmp_path / "pipeline.toml", tmp_path / "recorded.toml"
    spec.write_text("\n".join((benanza("pipeline", MODEL, IMAGES).stdout, scenario, slow)))
    arguments = ("evaluate", "--spec", spec, "--record", recorded)
    monkeypatch.setattr(evaluate, "SERVICE_S", 0.01)
    done = benanza(*arguments)
    assert done.returncode == PARTIAL
    assert "LoadGen: INVALID" in done.stdout
    assert "[recorded.under_load]" in recorded.read_text()

    def no_memory(*_: object) -> None:
        raise BenanzaError("no memory is left")

    monkeypatch.setattr(evaluate, "load_sizes", no_memory)
    done = benanza(*arguments)
    assert done.returncode == FAILED
    assert "of 40 right" in done.stdout
    assert "no memory is left" in done.stdout
    assert "[recorded.speed]" in recorded.read_text()
    assert "under_load" not in recorded.read_text()


def test_a_record_that_can_t_be_written_is_said_before_anything_runs(benanza: Benanza) -> None:
    done = benanza("evaluate", "--spec", __file__, "--record", "/dev/null/recorded.toml")
    assert done.returncode == 1
    assert "can't write /dev/null/recorded.toml" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("evaluate",), 2, "name a MODEL, or --spec with or without --record"),
        (("evaluate", "--spec", __file__), 1, "is no TOML"),
        (("evaluate", "--spec", __file__, "--streams", "2"), 2, "beside it give only --record"),
        (("evaluate", "model.onnx", "--record", "new.toml"), 2, "--spec with or without --record"),
        (("pipeline", MODEL, DIGITS / "none"), 1, "none can't be read: No such file"),
        (("pipeline", "zoo:none", IMAGES), 1, "no model 'none' in the zoo"),
    ],
)
def test_wrong_use(
    benanza: Benanza, arguments: tuple[str | Path, ...], status: int, said: str
) -> None:
    done = benanza(*arguments)
    assert done.returncode == status
    assert said in done.stderr


def test_a_model_that_takes_no_images_is_said(benanza: Benanza, tmp_path: Path) -> None:
    from onnx import parser

    text = '<ir_version: 10, opset_import: ["" : 20]>\nnet (float[2, 8] x) => (float[2, 8] y) '
    net = tmp_path / "net.onnx"
    net.write_bytes(parser.parse_model(text + "{ y = Relu(x) }").SerializeToString())
    done = benanza("pipeline", net, IMAGES)
    assert done.returncode == 1
    assert "takes no batch of images of 1 or 3 channels, but x [1, 8]" in done.stderr
