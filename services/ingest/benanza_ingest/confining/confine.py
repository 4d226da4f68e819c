"""Takes from this process what it needs no more: network, writing, other programs, much memory."""

import resource
import sys
from dataclasses import dataclass
from pathlib import Path

from benanza_ingest.confining import landlock, seccomp

MEMORY_BYTES = 4 << 30
"""What a process may take for data. Ingest takes less than one of these for 200,000 nodes."""


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


_in_force: Confinement | None = None


def confine(network: bool) -> None:
    """Confines this process for good, and all that it starts. Call it before there are threads.

    Without `network` it can read nothing but the program and its libraries. With it, it can read
    all that its user can: names are resolved, and certificates checked, by files of the system.
    """
    global _in_force
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = MEMORY_BYTES if most == resource.RLIM_INFINITY else min(MEMORY_BYTES, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    if sys.platform != "linux":
        _in_force = Confinement(files=False, calls=False)
        return
    readable = [Path("/")] if network else _program_folders()
    files = landlock.restrict(readable, network)
    _in_force = Confinement(files, seccomp.deny(network))


def in_force() -> Confinement | None:
    """What `confine` did to this process; None if it wasn't called."""
    return _in_force


def _program_folders() -> list[Path]:
    """Where Python finds modules, and the system libraries and numbers of the processor."""
    folders = [Path(each) for each in (*sys.path, sys.prefix, sys.base_prefix) if each]
    system = map(Path, ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"))
    hardware = map(Path, ("/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/meminfo"))
    return [each for each in (*folders, *system, *hardware) if each != Path("/")]
