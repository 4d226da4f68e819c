"""Calls the Linux kernel where Python has no function for it."""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38

_LIBC = ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: int | bytes | None) -> int:
    """The result, below 0 for an error, whose number is then in `ctypes.get_errno()`."""
    passed = [
        ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments
    ]
    return int(_LIBC.syscall(ctypes.c_long(number), *passed))


def no_new_privileges() -> None:
    """No program that this process starts has more rights. Raises `OSError` if that can't be."""
    _checked(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")


def end_with_parent(parent: int) -> None:
    """Ends this process when the one with this id ends that started it, even if it has ended since.
    Raises `OSError` if that can't be.
    """
    _checked(_LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "end with the parent")
    if os.getppid() != parent:
        os._exit(1)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
