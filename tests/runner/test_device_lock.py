"""Only one process at a time is in the lock of a device, and none keeps it that has ended."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benanza_runner.device_lock import DeviceLock, lock_path

HOLDS = """
import sys, time
from pathlib import Path
from benanza_runner.device_lock import DeviceLock
with DeviceLock(Path(sys.argv[1])):
    print("in", flush=True)
    sys.stdin.readline()
    time.sleep(float(sys.argv[2]))
"""


def holder(path: Path, seconds: float = 0.0) -> subprocess.Popen[bytes]:
    """A process in the lock, which leaves it so many seconds after it was written to."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(path), str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"in\n"
    return process


def test_another_process_waits(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path, 0.5) as process:
        assert process.stdin is not None
        started = time.monotonic()
        process.stdin.close()
        with DeviceLock(path):
            assert time.monotonic() - started > 0.4


def test_who_was_killed_does_not_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        process.kill()
        with DeviceLock(path):
            pass


def test_after_its_file_was_removed_two_still_exclude_each_other(tmp_path: Path) -> None:
    """As what clears folders for temporary files does."""
    path = tmp_path / "lock"
    lock = DeviceLock(path)
    path.unlink()
    with holder(path, 0.5) as process:
        assert process.stdin is not None
        started = time.monotonic()
        process.stdin.close()
        with lock:
            assert time.monotonic() - started > 0.4


def test_it_can_be_entered_within_itself(tmp_path: Path) -> None:
    lock = DeviceLock(tmp_path / "lock")
    with lock:
        with lock:
            pass
        time.sleep(0.02)
        assert lock.held_s == 0.0, "it is still in it"
    assert lock.held_s >= 0.02


def test_it_is_left_with_an_error(tmp_path: Path) -> None:
    lock, other = DeviceLock(tmp_path / "lock"), DeviceLock(tmp_path / "lock")
    with pytest.raises(ValueError, match="ours"), lock:
        raise ValueError("ours")
    with other:
        pass


def test_a_file_that_can_only_be_read_will_do(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch(0o444)
    with DeviceLock(path):
        pass


def test_each_device_has_a_lock_of_its_own() -> None:
    assert lock_path("GPU-1") != lock_path("GPU-2")
