"""The walk's shell: what fails there fails the test, and nothing of it stays."""

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.benanza.processes import until
from tests.docs.walk.shell import Shell

pytestmark = pytest.mark.integration


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with Shell(tmp_path, os.environ, tmp_path) as shell:
        yield shell


def test_blocks_share_variables_and_jobs(shell: Shell) -> None:
    assert shell.run("word=kept; sleep 60 &") == ""
    assert shell.run("echo $word; kill %?sleep") == "kept\n"


@pytest.mark.parametrize("lines", ["false; true", "cat nowhere", "exit 0"])
def test_a_line_that_fails_fails_the_block(shell: Shell, lines: str) -> None:
    with pytest.raises(AssertionError, match="failed"):
        shell.run(lines)


def test_a_failure_says_what_was_typed_and_what_came_of_it(shell: Shell) -> None:
    shell.run("echo before")
    with pytest.raises(AssertionError, match=r"(?s)before.*cat nowhere.*No such file"):
        shell.run("cat nowhere")


def test_a_block_that_does_not_end_fails(shell: Shell) -> None:
    with pytest.raises(AssertionError, match="takes too long"):
        shell.run("sleep 60", patience_s=0.1)


def test_what_goes_on_in_the_background_ends_with_the_shell(shell: Shell) -> None:
    process = psutil.Process(int(shell.run("sleep 60 & echo $!")))
    shell.close()
    until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)
