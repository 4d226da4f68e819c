"""The filter of system calls, tried here for both architectures, of which this machine is one."""

import re
import subprocess

import pytest

from benanza_backbone.confining.calls import (
    NUMBERS,
    Rules,
    forbidden_when_started,
    forbidden_with_device,
    rules_of_child,
    rules_of_parent,
)
from benanza_backbone.confining.seccomp import (
    ALLOW,
    AUDIT,
    DENY,
    LACK,
    NEW_FROM,
    program,
    program_without,
)
from tests.backbone.confining.bpf import decision
from tests.skipping.programs import need_program

MACHINES = list(AUDIT)
CHILD = 4242

SOCKETS = {"x86_64": 41, "aarch64": 198}
EXECUTE = {"x86_64": 59, "aarch64": 221}
TRACE = {"x86_64": 101, "aarch64": 117}
IO_URING_SETUP, CLONE_3, PIDFD_GETFD = 425, 435, 438

THREAD = 0x3D0F00
"""The flags with which the C library starts a thread."""

FORK = 0x1200011


def decided(machine: str, rules: Rules, name: str, *arguments: int) -> int:
    number = NUMBERS[name][MACHINES.index(machine)]
    assert number is not None
    return decision(program(machine, rules), AUDIT[machine], number, arguments)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("network", [False, True])
def test_what_is_not_named_is_denied(machine: str, network: bool) -> None:
    rules = rules_of_child(network, CHILD)
    allowed = {NUMBERS[name][MACHINES.index(machine)] for name in rules}
    code = program(machine, rules)
    for number in range(600):
        found = decision(code, AUDIT[machine], number)
        if number not in allowed:
            assert found == (LACK if number >= NEW_FROM else DENY)
    for number in (EXECUTE[machine], TRACE[machine]):
        assert decision(code, AUDIT[machine], number) == DENY
    for number in (IO_URING_SETUP, CLONE_3, PIDFD_GETFD):
        assert decision(code, AUDIT[machine], number) == LACK
    sockets = decision(code, AUDIT[machine], SOCKETS[machine], (2, 1, 0))
    assert sockets == (ALLOW if network else DENY)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_of_another_architecture_are_denied(machine: str) -> None:
    code = program(machine, rules_of_parent(network=True))
    read = NUMBERS["read"][MACHINES.index(machine)]
    assert read is not None
    assert decision(code, AUDIT[machine], read) == ALLOW
    for audit in (0x40000003, 0x40000028, *AUDIT.values()):  # those of 32 bits
        if audit != AUDIT[machine]:
            assert decision(code, audit, read) == DENY
    assert decision(code, AUDIT[machine], read | 0x40000000) == DENY


@pytest.mark.parametrize("machine", MACHINES)
def test_a_process_with_a_device_may_do_what_is_not_denied(machine: str) -> None:
    """Once it has started, it starts threads and nothing else."""
    compiling = program_without(machine, forbidden_with_device())
    started = program_without(machine, forbidden_when_started(CHILD))

    def decided(code: bytes, number: int, *arguments: int) -> int:
        return decision(code, AUDIT[machine], number, arguments)

    assert decided(compiling, SOCKETS[machine], 2, 1, 0) == DENY
    assert decided(compiling, TRACE[machine]) == DENY
    assert decided(compiling, IO_URING_SETUP) == LACK
    assert decided(compiling, EXECUTE[machine]) == ALLOW
    assert decided(started, EXECUTE[machine]) == DENY
    assert decided(started, CLONE_3) == LACK
    clone = NUMBERS["clone"][MACHINES.index(machine)]
    assert clone is not None
    assert decided(started, clone, THREAD) == ALLOW
    assert decided(started, clone, FORK) == DENY
    kill = NUMBERS["kill"][MACHINES.index(machine)]
    assert kill is not None
    assert decided(started, kill, CHILD, 9) == ALLOW
    assert decided(started, kill, 1, 9) == DENY
    assert decision(compiling, 0x40000003, 3) == DENY


@pytest.mark.parametrize("machine", MACHINES)
def test_a_child_starts_threads_and_no_processes(machine: str) -> None:
    parent, child = rules_of_parent(network=False), rules_of_child(False, CHILD)
    assert decided(machine, child, "clone", THREAD) == ALLOW
    assert decided(machine, child, "clone", FORK) == DENY
    assert decided(machine, parent, "clone", FORK) == ALLOW
    for namespace in (0x20000, 0x10000000, 0x40000000):
        assert decided(machine, parent, "clone", FORK | namespace) == DENY
        assert decided(machine, child, "clone", THREAD | namespace) == DENY


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "allowed", "denied"),
    [
        ("kill", (CHILD, 9), (1, 0)),
        ("tgkill", (CHILD, CHILD, 6), (CHILD - 1, 1, 6)),
        ("prlimit64", (0, 7), (CHILD - 1, 7)),
        ("prctl", (15, 0), (1, 0)),  # PR_SET_PDEATHSIG
        ("mmap", (0, 4096, 5), (0, 4096, 7)),
        ("mmap", (0, 4096, 3, 0x22), (0, 4096, 3, 0x21)),  # MAP_PRIVATE or MAP_SHARED of no file
        ("mmap", (0, 4096, 3, 0x01), (0, 4096, 3, 0x23)),  # MAP_SHARED_VALIDATE of no file
        ("mprotect", (0, 4096, 3), (0, 4096, 5)),
        ("fcntl", (3, 3), (3, 8)),  # F_SETOWN
        ("ioctl", (3, 0x5401), (3, 0x5412)),  # TIOCSTI
        ("socket", (2, 1), (1, 1)),  # AF_UNIX
        ("sendto", (3, 0, 1, 0x4000), (3, 0, 1, 1)),  # MSG_OOB
    ],
)
def test_arguments_are_checked(
    machine: str, name: str, allowed: tuple[int, ...], denied: tuple[int, ...]
) -> None:
    rules = rules_of_child(True, CHILD)
    assert decided(machine, rules, name, *allowed) == ALLOW
    assert decided(machine, rules, name, *denied) == DENY


def test_what_the_kernel_ignores_of_an_argument_does_not_count() -> None:
    rules = rules_of_child(True, CHILD)
    assert decided("x86_64", rules, "socket", 0xFF_0000_0001, 1) == DENY


@pytest.mark.parametrize(
    ("machine", "header"),
    [("x86_64", "asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")],
)
def test_the_numbers_are_those_of_the_headers(machine: str, header: str) -> None:
    """The second is that of ARM64, on any machine."""
    need_program("gcc")
    wants = "".join(f"#define __ARCH_WANT_{name}\n" for name in ("NEW_STAT", "SYS_CLONE3"))
    code = f"#define __BITS_PER_LONG 64\n{wants}#include <{header}>\n"
    wanted = (f"{name}=__NR_{name}" for name in NUMBERS)
    found = subprocess.run(
        ["gcc", "-E", "-P", "-x", "c", "-"],
        input=code + "\n".join(wanted),
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        pytest.skip(f"{header} isn't there: the C library's headers are of another architecture")
    numbers = dict(re.findall(r"^(\w+)=(\d+)$", found.stdout, re.MULTILINE))
    known = {name: number[MACHINES.index(machine)] for name, number in NUMBERS.items()}
    assert {name: int(number) for name, number in numbers.items()} == {
        name: number for name, number in known.items() if number is not None
    }
