"""Takes from this process what it needs no more: network, files, other programs, much memory."""

import os
import resource
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benanza_backbone.confining import landlock, seccomp
from benanza_backbone.confining.calls import (
    Rules,
    forbidden_when_started,
    forbidden_with_device,
    rules_of_child,
    rules_of_parent,
)
from benanza_backbone.confining.system_calls import end_with_parent
from benanza_backbone.worker.inside import limit_memory

MEMORY_BYTES = 4 << 30
"""What a process may take for data. Ingest takes less than one of these for 200,000 nodes."""

PRINTED_BYTES = 1 << 16
"""How long a file may become: a process writes none but what it prints."""

COMPILED_BYTES = 1 << 28
"""How long a file may become that a compiler writes."""


@dataclass(frozen=True)
class Confinement:
    """What is in force. `files` is that nothing can be written, `calls` that system calls are
    filtered, and with them the network.
    """

    files: bool
    calls: bool

    def missing(self) -> tuple[str, ...]:
        """What the system doesn't let be dropped, for people."""
        lacks = []
        if not self.files:
            lacks.append("write access (the kernel has no Landlock)")
        if not self.calls:
            lacks.append("network (no seccomp filter can be set)")
        return tuple(lacks)


def confine(readable: Iterable[Path], network: bool) -> Confinement:
    """Confines this process for good, and all that it starts: to reading what is below these
    paths, without network unless it is asked for. Call it before there are threads.
    """
    return _confine(readable, network, MEMORY_BYTES, rules_of_parent(network))


def confine_alone(readable: Iterable[Path], memory_bytes: int) -> Confinement:
    """Confines this process for good to reading what is below these paths: it has no network,
    starts no program, and takes so much memory for data. It may start threads.
    """
    return _confine(readable, False, memory_bytes, rules_of_child(False, os.getpid()))


def confine_with_device(
    readable: Iterable[Path], folder: Path, devices: Iterable[Path], memory_bytes: int
) -> Confinement:
    """Confines this process for good, and all that it starts, to reading what is below these paths,
    to the devices, and to a folder of its own, in which compilers may write. It has no network.
    """
    limit_memory(memory_bytes)
    resource.setrlimit(resource.RLIMIT_FSIZE, (COMPILED_BYTES, COMPILED_BYTES))
    if sys.platform != "linux":
        return Confinement(files=False, calls=False)
    files = landlock.restrict(readable, False, (folder,), devices)
    return Confinement(files, seccomp.forbid(forbidden_with_device()))


def confine_started(readable: Iterable[Path], devices: Iterable[Path]) -> None:
    """Takes from such a process what it needed to begin: it writes no file any more, and starts no
    program. It may start threads.
    """
    resource.setrlimit(resource.RLIMIT_FSIZE, (PRINTED_BYTES, PRINTED_BYTES))
    if sys.platform == "linux":
        landlock.restrict(readable, False, devices=devices)
        seccomp.forbid(forbidden_when_started(os.getpid()))


def _confine(
    readable: Iterable[Path], network: bool, memory_bytes: int, rules: Rules
) -> Confinement:
    limit_memory(memory_bytes)
    resource.setrlimit(resource.RLIMIT_FSIZE, (PRINTED_BYTES, PRINTED_BYTES))
    if sys.platform != "linux":
        return Confinement(files=False, calls=False)
    files = landlock.restrict(readable, network)
    return Confinement(files, seccomp.restrict(rules))


def confine_child(parent: int, network: bool) -> None:
    """Takes from a child of a confined process what only that needs, and lets it end with that."""
    if sys.platform == "linux":
        end_with_parent(parent)
        seccomp.restrict(rules_of_child(network, os.getpid()))
