"""docs/tutorial.md: each command prints what stands below it."""

import os
import re
import shlex
import subprocess
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

import pytest

from tests.benanza.conftest import PROGRAM, environment
from tests.docs.blocks import ROOT, blocks, python_path

PAGE = "tutorial.md"
COMMANDS = [block.removeprefix("$ ").split("\n", 1) for block in blocks(PAGE, "console")]


def test_each_block_has_one_command() -> None:
    assert len(COMMANDS) >= 7
    for block in blocks(PAGE, "console"):
        assert re.findall(r"^\$ ", block, re.MULTILINE) == ["$ "]
        assert block.startswith("$ benanza ")


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_each_command_prints_what_stands_below_it(tmp_path: Path) -> None:
    """In the order of the page, in one data folder; and so does the program at its end."""
    (tmp_path / "recordings").symlink_to(ROOT / "recordings")
    settings = environment(tmp_path) | {
        "BENANZA_DATA": str(tmp_path / "data"),
        "PYTHONPATH": python_path(tmp_path),
    }
    for command, printed in COMMANDS:
        _, *arguments = shlex.split(command)
        _check(printed, [str(PROGRAM), *arguments], tmp_path, settings)
    assert (tmp_path / "resnet50.html").stat().st_size > 0
    (program,), (printed,) = blocks(PAGE, "python"), blocks(PAGE, "text")
    _check(printed, [sys.executable, "-c", program], tmp_path, settings)


def _check(printed: str, command: list[str], folder: Path, settings: dict[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    options = ELLIPSIS | NORMALIZE_WHITESPACE
    assert OutputChecker().check_output(printed, done.stdout, options), (
        f"{shlex.join(command)}{os.linesep}{done.stdout}"
    )
