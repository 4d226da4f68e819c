"""Whoever runs something for long on a device, and whoever measures layers there, take turns.

A runner's time limits are for layers: it waits for its turn before it asks its workers, so that no
layer fails because something else ran for minutes. `device_lock` is within that, for the workers
of a GPU among themselves.
"""

import fcntl
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from tempfile import gettempdir
from threading import Event
from types import TracebackType

from benanza_backbone.errors import BenanzaError
from benanza_runner.device_lock import leads_to
from benanza_runner.monitoring.gpu_state import gpu_state

FOLDER = "benanza-turns"
"""Beside other temporary files. Containers that share a device mount one folder there."""

LONGEST_TURN_S = 900.0
"""Nobody keeps others from a device for longer."""

LOOK_S = 0.02
"""So often it looks whether the device is free, and whether to go on waiting."""

_READ_BY_ALL = 0o644


class DeviceTakenError(BenanzaError):
    """Others kept the device for longer than was waited."""


class DeviceTurn:
    """A context manager in which others keep from these devices: all others if it is `alone`, else
    those that are.

    All programs of this machine that name a device alike take turns on it. Who waits for the
    device alone keeps newcomers out; among several who wait, chance decides. It may be entered
    again within itself, by the same thread. If the process in it is killed, processes that inherit
    `files` stay in it until they end: so what it has left behind keeps the device while it runs.
    Who leaves it ends it for them as well. Raises `BenanzaError` if the files can't be opened. Who
    enters gets a `DeviceTakenError` after `wait_s` seconds, or once it is stopped. The files may be
    removed, as by what clears folders for temporary files: whoever enters then makes them anew.
    """

    def __init__(
        self,
        devices: Sequence[str],
        *,
        alone: bool,
        wait_s: float = inf,
        folder: Path | None = None,
    ) -> None:
        self._names = ", ".join(devices)
        # In one order by all, or two would wait for each other.
        self._devices = [
            (_LockFile(folder, f"{name}.gate"), _LockFile(folder, f"{name}.turn"))
            for name in sorted(devices)
        ]
        self._how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
        self._wait_s = wait_s
        self._stopped = Event()
        self._depth = 0

    @property
    def files(self) -> tuple[int, ...]:
        """The file descriptors that a process inherits to be in it. They stay the same."""
        return tuple(turn.file for _, turn in self._devices)

    @property
    def renewals(self) -> int:
        """How often files were made anew. Processes that inherited `files` before are in no turn
        since.
        """
        return sum(turn.renewals for _, turn in self._devices)

    def stop(self) -> None:
        """Whoever waits, in another thread, waits no more."""
        self._stopped.set()

    def __enter__(self) -> None:
        if not self._depth:
            deadline = time.monotonic() + self._wait_s
            try:
                for gate, turn in self._devices:
                    # Who waits for all others to leave keeps the gate, so that none comes in.
                    self._take(gate, fcntl.LOCK_EX, deadline)
                    try:
                        self._take(turn, self._how, deadline)
                    finally:
                        gate.unlock()
            except BaseException:
                self._leave()
                raise
        self._depth += 1

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self._leave()

    def _take(self, file: "_LockFile", how: int, deadline: float) -> None:
        while True:
            with suppress(BlockingIOError):
                file.lock(how)
                return
            if self._stopped.wait(LOOK_S) or time.monotonic() > deadline:
                raise DeviceTakenError(f"another program keeps {self._names}")

    def _leave(self) -> None:
        for _, turn in self._devices:
            turn.unlock()


class _LockFile:
    """A file of this name that whoever takes turns locks, by default in the shared folder."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self._folder = folder
        self._name = name
        self._path = self._place()
        self.file = _opened(self._path)
        self.renewals = 0

    def lock(self, how: int) -> None:
        """Raises `BlockingIOError` while others have it, and `BenanzaError` if it was removed and
        can't be made anew.
        """
        fcntl.flock(self.file, how | fcntl.LOCK_NB)
        while not leads_to(self._path, self.file):
            # Others lock another one by now. Who inherited this one must not go on having it: there
            # may be some who wait for it.
            self.unlock()
            self._renew()
            fcntl.flock(self.file, how | fcntl.LOCK_NB)
        with suppress(OSError):  # it may be another user's
            os.utime(self.file)  # what is removed is what is old

    def unlock(self) -> None:
        """For those as well who inherited it."""
        fcntl.flock(self.file, fcntl.LOCK_UN)

    def _place(self) -> Path:
        return (self._folder or shared_folder()) / self._name

    def _renew(self) -> None:
        self._path = self._place()  # the folder may be gone as well
        made = _opened(self._path)
        os.dup2(made, self.file, inheritable=False)
        os.close(made)
        self.renewals += 1


def gpu() -> tuple[str, ...]:
    """The name of the GPU that this process runs on; none where there is no GPU."""
    state = gpu_state()
    return (state.uuid,) if state else ()


def cores() -> tuple[str, ...]:
    """The names of the processors that this process may use: who uses others is not in the way."""
    if not hasattr(os, "sched_getaffinity"):
        return ("cpu",)
    return tuple(f"cpu-{number}" for number in sorted(os.sched_getaffinity(0)))


def shared_folder() -> Path:
    """The folder that all users of this machine share."""
    folder = Path(gettempdir()) / FOLDER
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o1777)
    return folder


def _opened(path: Path) -> int:
    try:
        with suppress(FileExistsError):  # It may be another user's: then it is only read.
            made = os.open(path, os.O_CREAT | os.O_EXCL, _READ_BY_ALL)
            os.fchmod(made, _READ_BY_ALL)  # whatever this process's umask takes away
            os.close(made)
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise BenanzaError(
            f"{path} can't be used to take turns: {error.strerror}; let all users read it"
        ) from error
