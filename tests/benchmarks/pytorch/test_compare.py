"""The arguments of a comparison, and what is left to run."""

import subprocess
import sys
from pathlib import Path

import pytest

from benanza.pytorch.names import ALL
from benchmarks.pytorch.arguments import export_path, parsed
from benchmarks.pytorch.compare import main, not_run
from benchmarks.pytorch.rows import Bounded, Ran, Timed, TorchAttempt, append

MODELS = "--models=resnet50,timm:levit_192"
TIMED = Timed(
    model="resnet50",
    precision="fp16",
    batch=1,
    attempts=(TorchAttempt(configuration="eager, NCHW", median_us=900.0),),
)
BOUNDED = Bounded(model="resnet50", precision="fp16", batch=1, bound_us=320.0)
FAILED = Bounded(model="timm:levit_192", precision="fp16", batch=1, failure="no export")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a run that was interrupted."""
    found = tmp_path / "out.jsonl"
    for row in (TIMED, BOUNDED, FAILED):
        append(found, row)
    return found


def test_what_the_file_has_is_not_run_again(file: Path) -> None:
    asked = parsed("", [str(file), MODELS, "--precision=fp16"])
    assert asked.lacking(Timed) == [("timm:levit_192", "fp16", 1)]
    assert asked.lacking(Bounded) == []


def test_at_another_precision_or_batch_size_everything_is_lacking(file: Path) -> None:
    for other in ("--precision=bf16", "--batch=32"):
        asked = parsed("", [str(file), MODELS, other])
        assert asked.lacking(Bounded) == asked.keys()


def test_what_failed_is_run_again_if_that_is_asked_for(file: Path) -> None:
    asked = parsed("", [str(file), MODELS, "--precision=fp16", "--retry"])
    assert asked.lacking(Bounded) == [("timm:levit_192", "fp16", 1)]
    append(file, Bounded(model="timm:levit_192", precision="fp16", batch=1, bound_us=99.0))
    assert asked.lacking(Bounded) == []


def test_runs_are_a_side_that_is_asked_for(file: Path) -> None:
    arguments = [str(file), MODELS, "--precision=fp16"]
    assert parsed("", arguments).sides == ["pytorch", "bounds"]
    asked = parsed("", [*arguments, "--sides=bounds,runs"])
    assert asked.sides == ["bounds", "runs"]
    assert "Not run yet: 2 of 2 runs." in not_run(asked, arguments)
    append(file, Ran(model="resnet50", precision="fp16", batch=1, sequential_us=330.0))
    append(file, Ran(model="timm:levit_192", precision="fp16", batch=1, failure="no bound"))
    assert not_run(asked, arguments) == ""
    assert asked._replace(retry=True).lacking(Ran) == [("timm:levit_192", "fp16", 1)]


def test_a_bound_is_measured_before_its_model_is_run(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        started.append(command[2])
        return subprocess.CompletedProcess(command, 0)

    export = export_path(tmp_path, "resnet50", 1)
    export.touch()
    monkeypatch.setattr(subprocess, "run", run)
    arguments = ["--models=resnet50", "--precision=bf16", f"--exports={tmp_path}"]
    monkeypatch.setattr(sys, "argv", ["compare", str(file), *arguments, "--sides=runs,bounds"])
    main()
    assert started == ["benchmarks.pytorch.bounds", "benchmarks.pytorch.runs"]
    started.clear()
    monkeypatch.setattr(sys, "argv", ["compare", str(file), *arguments, "--sides=bounds"])
    main()
    assert started == ["benchmarks.pytorch.bounds"]


def test_without_a_file_everything_is_lacking(tmp_path: Path) -> None:
    asked = parsed("", [str(tmp_path / "none"), "--models=all"])
    assert asked.lacking(Timed) == asked.keys()
    assert len(asked.keys()) == 4 * len(ALL)


def test_without_time_nothing_is_started(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(file), MODELS, "--precision=fp16,bf16", "--seconds=-3"]
    monkeypatch.setattr(sys, "argv", ["compare", *arguments])
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a process was started"))
    main()
    assert "Not run yet: 3 of 4 PyTorch's times, 2 of 4 bounds" in capsys.readouterr().out


def test_what_was_not_run_is_said_with_the_command_that_goes_on(file: Path) -> None:
    arguments = [str(file), MODELS, "--precision=fp16"]
    said = not_run(parsed("", arguments), arguments)
    assert "1 of 2 PyTorch's times" in said
    assert "bounds," not in said
    assert said.endswith(f"    python -m benchmarks.pytorch.compare {' '.join(arguments)}")
    assert not_run(parsed("", [*arguments, "--sides=bounds"]), arguments) == ""


def test_the_models_are_printed_if_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed("", ["--print-models"])
    assert not ended.value.code
    assert capsys.readouterr().out.splitlines() == list(ALL)


@pytest.mark.parametrize(
    "arguments", [["--models=keras:x"], [MODELS, "--precision=fp8"], [MODELS, "--sides=both"]]
)
def test_what_means_nothing_is_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parsed("", ["out.jsonl", *arguments])
    assert arguments[-1].rpartition("=")[2].partition(":")[0] in capsys.readouterr().err


def test_an_export_has_a_name_that_every_file_system_takes(tmp_path: Path) -> None:
    assert export_path(tmp_path, "timm:levit_192", 8) == tmp_path / "timm-levit_192-b8.onnx"
