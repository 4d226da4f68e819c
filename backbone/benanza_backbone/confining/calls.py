"""Which system calls confined processes may make: those that Python, numpy, onnx, protobuf,
lzma and TLS were seen to make for real models, and what the C library may use in their place.
"""

from collections.abc import Mapping
from typing import NamedTuple

NUMBERS: Mapping[str, tuple[int | None, int | None]] = {
    "access": (21, None), "bind": (49, 200), "brk": (12, 214), "clock_getres": (229, 114),
    "clock_gettime": (228, 113), "clock_nanosleep": (230, 115), "clone": (56, 220),
    "close": (3, 57), "connect": (42, 203), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_pwait": (281, 22), "epoll_wait": (232, None), "exit": (60, 93), "exit_group": (231, 94),
    "faccessat": (269, 48), "faccessat2": (439, 439), "fcntl": (72, 25), "fstat": (5, 80),
    "futex": (202, 98), "getcwd": (79, 17), "getdents64": (217, 61), "getegid": (108, 177),
    "geteuid": (107, 175), "getgid": (104, 176), "getpeername": (52, 205), "getpid": (39, 172),
    "getppid": (110, 173), "getrandom": (318, 278), "getrusage": (98, 165),
    "getsockname": (51, 204), "getsockopt": (55, 209), "gettid": (186, 178),
    "gettimeofday": (96, 169), "getuid": (102, 174), "ioctl": (16, 29), "kill": (62, 129),
    "lseek": (8, 62), "lstat": (6, None), "madvise": (28, 233), "mmap": (9, 222),
    "mprotect": (10, 226), "mremap": (25, 216), "munmap": (11, 215), "nanosleep": (35, 101),
    "newfstatat": (262, 79), "open": (2, None), "openat": (257, 56), "poll": (7, None),
    "ppoll": (271, 73), "prctl": (157, 167), "pread64": (17, 67), "prlimit64": (302, 261),
    "read": (0, 63), "readlink": (89, None), "readlinkat": (267, 78), "readv": (19, 65),
    "recvfrom": (45, 207), "recvmsg": (47, 212), "restart_syscall": (219, 128), "rseq": (334, 293),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sched_getaffinity": (204, 123), "sched_yield": (24, 124), "seccomp": (317, 277),
    "sendmmsg": (307, 269), "sendmsg": (46, 211), "sendto": (44, 206), "set_robust_list": (273, 99),
    "setsockopt": (54, 208), "shutdown": (48, 210), "sigaltstack": (131, 132), "socket": (41, 198),
    "stat": (4, None), "statx": (332, 291), "sysinfo": (99, 179), "tgkill": (234, 131),
    "time": (201, None), "uname": (63, 160), "wait4": (61, 260), "write": (1, 64),
    "writev": (20, 66),
    "add_key": (248, 217), "bpf": (321, 280), "execve": (59, 221), "execveat": (322, 281),
    "fork": (57, None), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425), "clone3": (435, 435), "keyctl": (250, 219), "mount": (165, 40),
    "perf_event_open": (298, 241), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "setns": (308, 268),
    "socketpair": (53, 199), "tkill": (200, 130), "umount2": (166, 39), "unshare": (272, 97),
    "userfaultfd": (323, 282), "vfork": (58, None),
}  # fmt: skip
"""Their numbers on x86-64 and on ARM64, where each exists, from the headers <asm/unistd_64.h> and
<asm-generic/unistd.h>.
"""


class ArgumentCheck(NamedTuple):
    """That what the mask leaves of a call's argument is one of these values. Arguments count from
    0; of each the lower 32 bits are looked at, as the kernel does with those that are checked here.
    """

    argument: int
    mask: int
    values: tuple[int, ...]


Rules = Mapping[str, tuple[ArgumentCheck, ...]]
"""The calls that are allowed, by name, with what is checked of their arguments."""

_ALL = 0xFFFFFFFF
_WRITE_AND_EXECUTE = 2 | 4
_SHARED, _ANONYMOUS = 1, 0x20
"""MAP_SHARED, which MAP_SHARED_VALIDATE has as well, and MAP_ANONYMOUS."""
_NAMESPACES = 0x7E020000
_AS_OTHERS = 0x8000 | 0x2000
"""With the parent of the parent, or traced as it is."""
_THREAD = 0x10000
_NO_URGENT_BYTE = 1
"""MSG_OOB, whose code in the kernel nobody needs."""

_ONLY_TO_ITSELF = (ArgumentCheck(0, _ALL, (0,)),)

_ANY = """
    access brk clock_getres clock_gettime clock_nanosleep close exit exit_group faccessat
    faccessat2 fstat futex getcwd getdents64 getegid geteuid getgid getpid getppid getrandom
    getrusage gettid gettimeofday getuid lseek lstat madvise mremap munmap nanosleep newfstatat
    open openat poll ppoll pread64 read readlink readlinkat readv restart_syscall rseq
    rt_sigaction rt_sigprocmask rt_sigreturn sched_getaffinity sched_yield set_robust_list
    sigaltstack stat statx sysinfo time uname write writev
""".split()

_CHECKED: Rules = {
    # No page is written and executed, but files that may be read are mapped to be executed. Memory
    # that is shared, and of no file, counts for no limit.
    "mmap": (
        ArgumentCheck(2, _WRITE_AND_EXECUTE, (0, 2, 4)),
        ArgumentCheck(3, _SHARED | _ANONYMOUS, (0, _SHARED, _ANONYMOUS)),
    ),
    "mprotect": (ArgumentCheck(2, 4, (0,)),),
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC: others may send signals.
    "fcntl": (ArgumentCheck(1, _ALL, (0, 1, 2, 3, 4, 1030)),),
    # TCGETS, FIONREAD, FIONBIO, FIOCLEX: others may type into a terminal.
    "ioctl": (ArgumentCheck(1, _ALL, (0x5401, 0x541B, 0x5421, 0x5451)),),
    "prlimit64": _ONLY_TO_ITSELF,
    # PR_SET_NAME, and names of memory that the C library gives.
    "prctl": (ArgumentCheck(0, _ALL, (15, 0x53564D41)),),
}

_STARTING: Rules = {
    "clone": (ArgumentCheck(0, _NAMESPACES | _AS_OTHERS, (0,)),),
    "kill": (),
    "tgkill": (),
    "wait4": (),
    "recvmsg": (),  # with the socket of the next child
    "seccomp": (),
    # PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS
    "prctl": (ArgumentCheck(0, _ALL, (1, 38, *_CHECKED["prctl"][0].values)),),
}
"""What else the process needs that starts children."""

_NETWORK: Rules = {
    **dict.fromkeys(
        """
        bind connect epoll_create1 epoll_ctl epoll_pwait epoll_wait getpeername getsockname
        getsockopt setsockopt shutdown
        """.split(),
        (),
    ),
    # IPv4, IPv6, and what the C library asks for the machine's own addresses: no local sockets.
    "socket": (ArgumentCheck(0, _ALL, (2, 10, 16)),),
    "recvfrom": (ArgumentCheck(3, _NO_URGENT_BYTE, (0,)),),
    "recvmsg": (ArgumentCheck(2, _NO_URGENT_BYTE, (0,)),),
    "sendmmsg": (ArgumentCheck(3, _NO_URGENT_BYTE, (0,)),),
    "sendmsg": (ArgumentCheck(2, _NO_URGENT_BYTE, (0,)),),
    "sendto": (ArgumentCheck(3, _NO_URGENT_BYTE, (0,)),),
}


def rules_of_parent(network: bool) -> Rules:
    """What the process may do that starts children, and never reads what strangers made."""
    return {**_rules(network), **_STARTING}


def rules_of_child(network: bool, process: int) -> Rules:
    """What a child may do whose process id this is: it starts threads, but no processes, and sends
    signals to nobody else.
    """
    itself = (ArgumentCheck(0, _ALL, (process,)),)
    threads = (ArgumentCheck(0, _NAMESPACES | _AS_OTHERS | _THREAD, (_THREAD,)),)
    return _rules(network) | {"clone": threads, "kill": itself, "tgkill": itself}


_REACHING_OUT: Rules = dict.fromkeys(
    """
    add_key bind bpf connect io_uring_enter io_uring_register io_uring_setup keyctl mount
    perf_event_open pidfd_getfd pidfd_open pidfd_send_signal process_vm_readv process_vm_writev
    ptrace request_key rt_sigqueueinfo rt_tgsigqueueinfo setns socket socketpair tkill umount2
    unshare userfaultfd
    """.split(),
    (),
)
"""Calls to the network and to other processes. Without io_uring, none is made in another way."""


def forbidden_with_device() -> Rules:
    """What a process may not do that uses a device, and compiles for it with other programs. All
    that a driver may call isn't known, so these are the calls that are denied.
    """
    return _REACHING_OUT


def forbidden_when_started(process: int) -> Rules:
    """What it may not do besides, when it needs no other programs any more. It starts threads."""
    rules = rules_of_child(False, process)
    itself = {name: rules[name] for name in ("clone", "kill", "tgkill")}
    return dict.fromkeys(["clone3", "execve", "execveat", "fork", "vfork"], ()) | itself


def _rules(network: bool) -> dict[str, tuple[ArgumentCheck, ...]]:
    return {**dict.fromkeys(_ANY, ()), **_CHECKED, **(_NETWORK if network else {})}
