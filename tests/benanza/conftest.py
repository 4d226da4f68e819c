"""The program as a user runs it, and a folder in which it has measured a real model."""

import json
import os
import re
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from benanza.cli import cli
from benanza.onnxruntime import framework
from benanza_runner import runtimes
from benanza_runner.measuring.stopping import Rule
from tests.backbone.conftest import new_stores_copied
from tests.benanza.quick_program import QUICK_PROGRAM, QUICK_RUNTIME
from tests.shared import copied, made_once

PROGRAM = Path(sysconfig.get_path("scripts")) / "benanza"

Benanza = Callable[..., "subprocess.CompletedProcess[str]"]
FirstRun = tuple[Path, "subprocess.CompletedProcess[str]"]

THOROUGH_RUNTIME = runtimes.ONNX_RUNTIME

SHORT = Rule(warm_up_us=10_000, least_us=50_000, cap_us=100_000)
"""So long a framework's run is timed where a test asks for no more than that there is a time."""


def environment(home: Path) -> dict[str, str]:
    """No settings but the default ones, and a home folder with nothing in it.

    But layers are measured in ONNX Runtime alone, which takes a third of the time.
    """
    kept = {name: text for name, text in os.environ.items() if not name.startswith("BENANZA_")}
    return kept | {"HOME": str(home), "XDG_DATA_HOME": "", "BENANZA_CPU_LIBRARIES": "none"}


def without_progress(errors: str) -> str:
    """Standard error without the lines that a pipe gets every ten seconds."""
    return re.sub(r"^.+: [0-9,]+ of [0-9,]+\n", "", errors, flags=re.MULTILINE)


@pytest.fixture(scope="session")
def benanza(tmp_path_factory: pytest.TempPathFactory) -> Benanza:
    """Runs the program in this process, as the program does in one of its own a second later."""
    home = tmp_path_factory.mktemp("home")

    def run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        with pytest.MonkeyPatch.context() as patch:
            for name in os.environ.keys() - environment(home).keys():
                patch.delenv(name)
            for name, text in environment(home).items():
                patch.setenv(name, text)
            patch.chdir(home)
            done = CliRunner().invoke(cli, [str(each) for each in arguments])
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="package", autouse=True)
def quick_runtime() -> Iterator[None]:
    """Lets what measures in ONNX Runtime do so for moments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtimes, "ONNX_RUNTIME", QUICK_RUNTIME)
        yield


@pytest.fixture(scope="package", autouse=True)
def _copied_stores() -> Iterator[None]:
    """Lets commands in this process find a new data folder's tables made. The program in one of its
    own makes them.
    """
    with new_stores_copied():
        yield


@pytest.fixture
def thorough_runtime(quick_runtime: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets it take its time, where times are compared."""
    monkeypatch.setattr(runtimes, "ONNX_RUNTIME", THOROUGH_RUNTIME)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Benanza:
    """Runs the program in a process of its own: its exit status, output and errors."""
    home = tmp_path_factory.mktemp("home")

    def run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        started = QUICK_PROGRAM if arguments[0] == "run" else (PROGRAM,)
        return subprocess.run(
            [*started, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=environment(home),
            cwd=home,
        )

    return run


@pytest.fixture
def short_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets ONNX Runtime run as long as `SHORT` says."""
    monkeypatch.setattr(framework, "RULE", SHORT)


@pytest.fixture(scope="session")
def first_run(program: Benanza) -> FirstRun:
    """A data folder in which squeezenet was measured, and what the program said."""

    def measure(folder: Path) -> None:
        done = program("run", "zoo:squeezenet", "--data", folder / "data", "--format", "json")
        said = json.dumps([done.returncode, done.stdout, done.stderr])
        (folder / "said.json").write_text(said)

    folder = made_once("measured", measure)
    said = json.loads((folder / "said.json").read_text())
    return folder / "data", subprocess.CompletedProcess([], *said)


@pytest.fixture
def data(first_run: tuple[Path, object], tmp_path: Path) -> Path:
    """A copy of that folder, for one test to change."""
    return copied(first_run[0], tmp_path / "data")
