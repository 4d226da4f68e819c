"""docs/extend/: what the pages show passes the contract suites, and is found by its entry point."""

import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.candidate_source import CandidateSource
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.search.instruments import Timer
from tests.benanza.conftest import PROGRAM, environment
from tests.docs.blocks import ROOT, blocks, files, install, python_path
from tests.ingest.onnx_text import content
from tests.runner.cuda.candidate_source_contract import CandidateSourceContract
from tests.runner.cuda.made_up_device import MadeUpDevice

MODEL = """
g (float[1,8] x) => (float[1,4] y) <float[8,4] w = ["location": "w"]> {
    a = MatMul(x, w)
    y = Relu(a)
}
"""

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a program with a page's package installed, and returns what it prints."""

    def run(page: str, *arguments: str | Path) -> str:
        install(page, tmp_path)
        settings = environment(tmp_path) | {"PYTHONPATH": python_path(tmp_path)}
        done = subprocess.run(
            arguments,
            capture_output=True,
            text=True,
            check=False,
            env=settings,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.onnx"
    path.write_bytes(content(MODEL))
    return path


@pytest.mark.integration
@pytest.mark.parametrize("port", ["runtime", "framework"])
def test_what_the_page_shows_passes_the_contract_suite(run: Run, port: str) -> None:
    plain = ("-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}")
    said = run(f"extend/{port}.md", sys.executable, "-m", "pytest", *plain, f"test_my_{port}.py")
    assert " passed" in said


@pytest.mark.integration
@pytest.mark.timeout(600)
def test_the_runtime_measures_a_model(run: Run, model: Path) -> None:
    asked = ("run", model, "--runtime", "reference", "--format", "json")
    said = json.loads(run("extend/runtime.md", PROGRAM, *asked))
    (bound,) = said["bounds"]
    assert bound["sequential_us"] > 0
    assert bound["coverage"]["missing"] == []


@pytest.mark.integration
def test_the_framework_profiles_a_model(run: Run, model: Path) -> None:
    asked = ("profile", model, "--framework", "reference", "--format", "json")
    said = json.loads(run("extend/framework.md", PROGRAM, *asked))
    (profile,) = said["profiles"]
    assert profile["failure"] == ""
    assert profile["us"] > 0


class TestLibraryOfThePage(CandidateSourceContract):
    @pytest.fixture
    def library(self, tmp_path: Path) -> CandidateSource:
        path = tmp_path / "my_library.py"
        path.write_text(files("extend/library.md")[path.name], "utf-8")
        found: CandidateSource = runpy.run_path(str(path))["DenseLayers"]()
        return found

    @pytest.fixture
    def memory(self) -> DeviceMemory:
        return DeviceMemory(np)

    @pytest.fixture
    def timer(self) -> Timer:
        return MadeUpDevice()


def test_what_is_written_out_is_proposed_as_a_region(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks("extend/region.md", "python")
    exec(compile(program, "region.md", "exec"), {"__name__": "page"})
    (printed,) = blocks("extend/region.md", "text")
    assert capsys.readouterr().out == printed
