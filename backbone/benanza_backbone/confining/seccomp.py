"""Seccomp: which system calls this process may still make, by a filter in the Linux kernel.

A filter is a program of classic BPF over <linux/seccomp.h>'s seccomp_data. What isn't allowed fails
with EPERM, so that a library goes on without it; calls that came with Linux 5.1 and later fail with
ENOSYS, as in an older kernel, since the C library has another way only then (clone3, whose flags
can't be checked, is such a call). https://docs.kernel.org/userspace-api/seccomp_filter.html

libseccomp would write the same program. But its binding for Python, pyseccomp, doesn't bring it,
and images without it would be without a filter. A program of comparisons is short enough to be
written, and to be run in a test (`tests/backbone/confining/bpf.py`), here.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Callable

from benanza_backbone.confining.calls import NUMBERS, ArgumentCheck, Rules
from benanza_backbone.confining.system_calls import no_new_privileges, system_call

ALLOW, DENY, LACK = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
"""What a filter returns: allowed, or with which error the call fails."""

_LOAD_WORD, _AND, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT, _ARGUMENT_BYTES = 0, 4, 16, 8
_SET_MODE_FILTER, _ALL_THREADS = 1, 1

NEW_FROM = 424
"""From here on, calls have one number on all architectures: they came with Linux 5.1 and later."""

_X32_FROM = 0x40000000
"""From here on, x86-64 has the same calls once more for programs with short pointers."""

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""How the kernel calls an architecture."""

_COLUMN = {"x86_64": 0, "aarch64": 1}

_Step = tuple[int, int, int, int]
"""An instruction: what to do, how many to skip if true, and if not, and a number."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def restrict(rules: Rules) -> bool:
    """Leaves all threads of this process, and what it starts, these system calls. What a former
    call didn't leave stays denied.

    Returns False, and changes nothing, where the kernel or the architecture isn't supported.
    """
    return _filtered(program, rules)


def forbid(rules: Rules) -> bool:
    """As `restrict`, but leaves all system calls except those of `program_without`."""
    return _filtered(program_without, rules)


def _filtered(made: Callable[[str, Rules], bytes], rules: Rules) -> bool:
    machine = platform.machine()
    if machine not in AUDIT:
        return False
    no_new_privileges()
    code = made(machine, rules)
    instructions = ctypes.create_string_buffer(code, len(code))
    described = _Program(len(code) // 8, ctypes.cast(instructions, ctypes.c_void_p))
    number = NUMBERS["seccomp"][_COLUMN[machine]]
    assert number is not None, "all architectures have it"
    result = system_call(number, _SET_MODE_FILTER, _ALL_THREADS, bytes(described))
    if result < 0 and ctypes.get_errno() not in (errno.ENOSYS, errno.EINVAL, errno.EPERM):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
    return result == 0


def program(machine: str, rules: Rules) -> bytes:
    """The filter that allows these calls on `x86_64` or `aarch64`, and none by the numbers of
    another architecture.
    """
    steps = _of_architecture(machine)
    for name, checks in rules.items():
        number = NUMBERS[name][_COLUMN[machine]]
        if number is not None:
            decision = [*(step for check in checks for step in _checked(check)), _ALLOWED]
            steps += [(_JUMP_IF_EQUAL, 0, len(decision), number), *decision]
    return _packed([*steps, *_DENIED])


def program_without(machine: str, rules: Rules) -> bytes:
    """The filter that allows all calls but these, and these only where all checks hold, of which
    a call without any is never allowed; none by the numbers of another architecture.
    """
    steps = _of_architecture(machine)
    for name, checks in rules.items():
        number = NUMBERS[name][_COLUMN[machine]]
        if number is not None:
            tests = [step for check in checks for step in _checked(check)]
            decision = [*tests, _ALLOWED] if checks else _DENIED
            steps += [(_JUMP_IF_EQUAL, 0, len(decision), number), *decision]
    return _packed([*steps, _ALLOWED])


def _of_architecture(machine: str) -> list[_Step]:
    """Denies the calls of others, and leaves the number of the call to be looked at."""
    return [
        (_LOAD_WORD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_IF_EQUAL, 1, 0, AUDIT[machine]),
        (_RETURN, 0, 0, DENY),
        (_LOAD_WORD, 0, 0, _NUMBER_AT),
        (_JUMP_IF_AT_LEAST, 0, 1, _X32_FROM),
        (_RETURN, 0, 0, DENY),
    ]


def _packed(steps: list[_Step]) -> bytes:
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


_ALLOWED: _Step = (_RETURN, 0, 0, ALLOW)
_DENIED: list[_Step] = [
    (_JUMP_IF_AT_LEAST, 0, 1, NEW_FROM),
    (_RETURN, 0, 0, LACK),
    (_RETURN, 0, 0, DENY),
]


def _checked(check: ArgumentCheck) -> list[_Step]:
    """Denies the call unless the check holds."""
    left = len(check.values)
    return [
        (_LOAD_WORD, 0, 0, _ARGUMENTS_AT + _ARGUMENT_BYTES * check.argument),
        (_AND, 0, 0, check.mask),
        *((_JUMP_IF_EQUAL, left - place, 0, value) for place, value in enumerate(check.values)),
        (_RETURN, 0, 0, DENY),
    ]
