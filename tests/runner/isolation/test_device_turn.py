"""Those that are alone on a device are, and nobody waits for ever because others keep coming."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread, Timer

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_runner.isolation.device_turn import DeviceTakenError, DeviceTurn, cores, shared_folder
from benanza_runner.isolation.isolated_runtime import IsolatedRuntime, RuntimeStartError
from tests.runner.fake_runtime import FakeRuntime
from tests.runner.layers import relu

SHORT_S = 0.1


def turn(folder: Path, *devices: str, alone: bool = True, wait_s: float = SHORT_S) -> DeviceTurn:
    return DeviceTurn(devices or ("gpu",), alone=alone, wait_s=wait_s, folder=folder)


def test_one_that_is_alone_keeps_all_others_away(tmp_path: Path) -> None:
    for alone in (True, False):
        with turn(tmp_path), pytest.raises(DeviceTakenError, match="keeps gpu"):
            turn(tmp_path, alone=alone).__enter__()
    with turn(tmp_path, alone=False), turn(tmp_path, alone=False):
        with pytest.raises(DeviceTakenError):
            turn(tmp_path).__enter__()
        with turn(tmp_path, alone=False):
            pass  # Who gave up isn't waited for.
    with turn(tmp_path):
        pass


def test_devices_that_overlap_are_in_each_others_way(tmp_path: Path) -> None:
    with turn(tmp_path, "cpu-1", "cpu-0"):
        with pytest.raises(DeviceTakenError):
            turn(tmp_path, "cpu-1", "cpu-2").__enter__()
        with turn(tmp_path, "cpu-2"):
            pass  # It was left by the one that didn't get both.
    assert cores()
    assert shared_folder().is_dir()


def test_who_waits_to_be_alone_comes_before_those_that_come_later(tmp_path: Path) -> None:
    """Workers that share a device would otherwise never all be away at once."""
    with turn(tmp_path, alone=False):
        waiting = turn(tmp_path, wait_s=10)
        thread = Thread(target=waiting.__enter__)
        thread.start()
        time.sleep(SHORT_S)
        with pytest.raises(DeviceTakenError):
            turn(tmp_path, alone=False).__enter__()
    thread.join()
    with pytest.raises(DeviceTakenError):
        turn(tmp_path, alone=False).__enter__()


def test_it_can_be_entered_within_itself(tmp_path: Path) -> None:
    own = turn(tmp_path)
    with own:
        with own:
            pass
        with pytest.raises(DeviceTakenError):
            turn(tmp_path).__enter__()
    with turn(tmp_path):
        pass


def test_other_users_can_take_turns_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        turn(tmp_path)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}


def test_files_that_cannot_be_opened_say_so(tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match=r"gpu\.gate can't be used to take turns: No such file"):
        turn(tmp_path / "nowhere")


@contextmanager
def left_behind(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that was started within a turn, by one that was killed."""
    text = f"""
import os, signal, subprocess, sys
from pathlib import Path
from benanza_runner.isolation.device_turn import DeviceTurn
turn = DeviceTurn(["gpu"], alone=True, folder=Path({str(folder)!r}))
turn.__enter__()
subprocess.Popen(["cat"], pass_fds=turn.files, stdout=subprocess.DEVNULL)
os.kill(os.getpid(), signal.SIGKILL)
"""
    with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE) as process:
        process.wait()
        yield process


def test_what_a_killed_process_has_started_keeps_the_device_while_it_runs(tmp_path: Path) -> None:
    with left_behind(tmp_path) as process:
        with pytest.raises(DeviceTakenError):
            turn(tmp_path).__enter__()
        assert process.stdin is not None
        process.stdin.close()
        with turn(tmp_path, wait_s=10):
            pass


def test_a_runner_waits_for_its_turn_and_no_layer_is_late_for_it(tmp_path: Path) -> None:
    others = turn(tmp_path)
    own = turn(tmp_path, wait_s=10)
    with IsolatedRuntime("tests.runner.fake_runtime:FakeRuntime", turn=own) as runtime:
        others.__enter__()
        leaving = Timer(SHORT_S, others.__exit__, (None, None, None))
        leaving.start()
        began = time.monotonic()
        assert runtime.system() == FakeRuntime().system()
        assert time.monotonic() - began > SHORT_S
        leaving.join()
        with others:
            Timer(SHORT_S, runtime.stop).start()
            with pytest.raises(RuntimeStartError, match="stopped"):
                runtime.ceilings("fp32")


def clear(folder: Path) -> None:
    """As what removes old files from folders for temporary ones."""
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize("alone", [True, False])
def test_files_that_are_removed_are_made_anew_by_who_enters_next(
    tmp_path: Path, alone: bool
) -> None:
    """Two programs were alone on a device, each by files of its own."""
    early = turn(tmp_path, alone=alone)
    files = early.files
    clear(tmp_path)
    late = turn(tmp_path)
    for inside, outside in ((early, late), (late, early)):
        with inside, pytest.raises(DeviceTakenError):
            outside.__enter__()
    assert early.files == files
    assert (early.renewals, late.renewals) == (1, 0)


def test_the_folder_is_made_anew_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    early, late = (DeviceTurn(["gpu"], alone=True, wait_s=SHORT_S) for _ in range(2))
    shutil.rmtree(shared_folder())
    with early, pytest.raises(DeviceTakenError):
        late.__enter__()


def test_what_has_inherited_files_that_were_removed_keeps_nobody_waiting(tmp_path: Path) -> None:
    early, waiting = turn(tmp_path), turn(tmp_path)
    with early:
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=early.files)
    with process:
        clear(tmp_path)
        with early:
            pass
        with waiting:
            pass


def test_what_inherits_files_that_were_made_anew_keeps_the_device(tmp_path: Path) -> None:
    early, late = turn(tmp_path), turn(tmp_path)
    clear(tmp_path)
    early.__enter__()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=early.files):
        for file in early.files:
            os.close(file)  # as if this process had been killed
        with pytest.raises(DeviceTakenError):
            late.__enter__()
    with late:
        pass


def test_files_that_are_used_do_not_get_old(tmp_path: Path) -> None:
    own = turn(tmp_path)
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    with own:
        pass
    assert all(path.stat().st_mtime > 0 for path in tmp_path.iterdir())


def test_a_worker_that_has_inherited_files_that_were_removed_is_replaced(tmp_path: Path) -> None:
    own = turn(tmp_path, wait_s=10)
    with IsolatedRuntime("tests.runner.fake_runtime:FakeRuntime", turn=own) as runtime:

        def worker() -> str:
            return runtime.measure(relu(2), "fp32").environment["process"]

        first = worker()
        assert worker() == first
        clear(tmp_path)
        second = worker()
        assert second != first
        assert worker() == second
