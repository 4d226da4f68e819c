"""Seccomp: which system calls this process may still make, by a filter in the Linux kernel.

A filter is a program of classic BPF over <linux/seccomp.h>'s seccomp_data. What it denies fails
with EPERM. https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence

from benanza_ingest.confining.system_calls import no_new_privileges, system_call

_ALLOW, _DENY = 0x7FFF0000, 0x00050000 | errno.EPERM
_LOAD_WORD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_SET_MODE_FILTER, _ALL_THREADS = 1, 1
_X32_FROM = 0x40000000
"""From here on, x86-64 has the same calls once more for programs with short pointers."""

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}

_EVERYWHERE = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432,
    "pidfd_open": 434, "pidfd_getfd": 438, "mount_setattr": 442, "fchmodat2": 452,
    "setxattrat": 463,
}  # fmt: skip
"""New system calls, which have one number on all architectures."""

_NUMBERS = {
    "x86_64": _EVERYWHERE | {
        "execve": 59, "execveat": 322, "ptrace": 101, "process_vm_readv": 310,
        "process_vm_writev": 311, "unshare": 272, "setns": 308, "mount": 165, "umount2": 166,
        "pivot_root": 155, "chroot": 161, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
        "add_key": 248, "request_key": 249, "keyctl": 250, "open_by_handle_at": 304,
        "chmod": 90, "fchmod": 91, "fchmodat": 268, "chown": 92, "fchown": 93, "lchown": 94,
        "fchownat": 260, "utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280,
        "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197,
        "lremovexattr": 198, "fremovexattr": 199,
        "socket": 41, "socketpair": 53, "connect": 42, "bind": 49, "listen": 50, "accept": 43,
        "accept4": 288, "sendto": 44, "sendmsg": 46, "sendmmsg": 307,
    },
    "aarch64": _EVERYWHERE | {
        "execve": 221, "execveat": 281, "ptrace": 117, "process_vm_readv": 270,
        "process_vm_writev": 271, "unshare": 97, "setns": 268, "mount": 40, "umount2": 39,
        "pivot_root": 41, "chroot": 51, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
        "add_key": 217, "request_key": 218, "keyctl": 219, "open_by_handle_at": 265,
        "fchmod": 52, "fchmodat": 53, "fchown": 55, "fchownat": 54, "utimensat": 88,
        "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15,
        "fremovexattr": 16,
        "socket": 198, "socketpair": 199, "connect": 203, "bind": 200, "listen": 201,
        "accept": 202, "accept4": 242, "sendto": 206, "sendmsg": 211, "sendmmsg": 269,
    },
}  # fmt: skip

NETWORK = frozenset(
    "socket socketpair connect bind listen accept accept4 sendto sendmsg sendmmsg".split()
)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def deny(network: bool) -> bool:
    """Denies all threads of this process what ingest never does: to start programs, to reach into
    other processes, to change who owns a file and who may read it; without `network`, sockets too.

    Returns False, and changes nothing, where the kernel or the architecture isn't supported.
    """
    machine = platform.machine()
    if machine not in _NUMBERS:
        return False
    denied = [n for name, n in _NUMBERS[machine].items() if not (network and name in NETWORK)]
    no_new_privileges()
    code = _filter(_AUDIT[machine], sorted(denied))
    instructions = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(instructions, ctypes.c_void_p))
    result = system_call(_SECCOMP[machine], _SET_MODE_FILTER, _ALL_THREADS, bytes(program))
    if result < 0 and ctypes.get_errno() not in (errno.ENOSYS, errno.EINVAL, errno.EPERM):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
    return result == 0


def _filter(audit: int, denied: Sequence[int]) -> bytes:
    """Denies these calls, and all calls by other numbers than this architecture's."""
    left = len(denied)
    steps = [
        (_LOAD_WORD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_IF_EQUAL, 0, left + 3, audit),
        (_LOAD_WORD, 0, 0, _NUMBER_AT),
        (_JUMP_IF_AT_LEAST, left + 1, 0, _X32_FROM),
        *((_JUMP_IF_EQUAL, left - at, 0, number) for at, number in enumerate(denied)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _DENY),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
