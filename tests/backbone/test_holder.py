"""Whoever waits for a lock is told which process has it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benanza_backbone.holder import MOST_CHARACTERS, holder, write_holder


def test_a_process_of_another_program_is_its_id(tmp_path: Path) -> None:
    write_holder(tmp_path / "lock")
    assert holder(tmp_path / "lock") == f"process {os.getpid()}"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"none\n"])
def test_what_nobody_wrote_names_nobody(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "lock").write_bytes(content)
    assert holder(tmp_path / "lock") == "another process"
    assert holder(tmp_path / "missing") == "another process"


def test_a_process_that_has_ended_or_never_was_is_not_named(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    for written in (str(ended.pid), "9" * 30):
        (tmp_path / "lock").write_text(written)
        assert holder(tmp_path / "lock") == "another process"


def test_one_of_ours_is_named_by_its_command_in_one_short_line(tmp_path: Path) -> None:
    program = tmp_path / "benanza"
    program.write_text("print('runs', flush=True); input()")
    for words in (["run", "zoo:resnet50"], ["publish", "x" * 100]):
        with subprocess.Popen(
            [sys.executable, program, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout
            process.stdout.readline()  # Before, the system may not know its command yet.
            (tmp_path / "lock").write_text(f"{process.pid}\n")
            said = holder(tmp_path / "lock")
            process.communicate("\n")
        shown = f"benanza {' '.join(words)}"
        if len(shown) > MOST_CHARACTERS:
            shown = f"{shown[: MOST_CHARACTERS - 1]}…"
        assert said == f"process {process.pid} ({shown})"
