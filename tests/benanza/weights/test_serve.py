"""What the store's process says at its start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benanza.weights import serve
from benanza.weights.serve import closed_folder

OTHER = os.geteuid() + 1


@pytest.mark.integration
def test_users_who_cannot_reach_the_socket_are_named(tmp_path: Path) -> None:
    """They were allowed, and the folder kept them out."""
    folder = tmp_path / "data"
    arguments = ("serve", "weights", "--memory", "1MB", "--allow", str(OTHER))
    with subprocess.Popen(
        [sys.executable, "-c", "from benanza.cli import main; main()", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "BENANZA_METRICS_PORT": "0", "BENANZA_DATA": str(folder)},
    ) as process:
        assert process.stdout
        assert process.stderr
        started = process.stdout.readline()
        process.terminate()
        said = process.stderr.read()
        assert process.wait(30) == 0
    assert started.startswith(f"serving weights: {folder}/weights.sock")
    assert f"user {OTHER} can't reach the socket" in said
    assert "--socket" in said


@pytest.mark.parametrize(
    ("mode", "groups", "is_open"),
    [
        (0o755, (), True),
        (0o711, (), True),
        (0o700, (), False),
        (0o750, (), False),
        (0o750, (os.getegid(),), True),
        (0o705, (os.getegid(),), False),
    ],
)
def test_the_folder_that_a_user_may_not_enter_is_found(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: int,
    groups: tuple[int, ...],
    is_open: bool,
) -> None:
    monkeypatch.setattr(serve, "_groups", lambda _: groups)
    within = tmp_path / "folder"
    within.mkdir()
    os.chown(within, -1, os.getegid())
    within.chmod(mode)
    above = closed_folder(within, OTHER)  # pytest's folders may be closed themselves
    found = closed_folder(within / "socket", OTHER)
    assert found == (above or (None if is_open else within))


def test_its_own_user_and_root_may_enter(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    for user in (os.geteuid(), 0):
        assert closed_folder(tmp_path / "socket", user) is None
