"""The processor: its name, and how much of it this process may use."""

import os
import platform
from math import ceil
from pathlib import Path

import cpuinfo
import psutil

PROCESSORS = Path("/proc/cpuinfo")
CPU_FOLDER = Path("/sys/devices/system/cpu")
QUOTA = Path("/sys/fs/cgroup/cpu.max")


def cpu_name() -> str:
    """The processor's own name, such as `AMD EPYC 7763 64-Core Processor`.

    If the kernel doesn't say it, py-cpuinfo asks the processor, which takes a second.
    """
    if PROCESSORS.exists():
        for line in PROCESSORS.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    name = cpuinfo.get_cpu_info().get("brand_raw", "")
    return str(name) or platform.machine()


def available_cores() -> int:
    """How many physical cores this process may use, within its affinity and its control group."""
    cores = len(processors_of_cores()) or psutil.cpu_count(logical=False) or 1
    return max(1, min(cores, _quota_cores(QUOTA)))


def processors_of_cores() -> tuple[int, ...]:
    """The first processor of each physical core that this process may use, within its affinity;
    none where the operating system doesn't say.
    """
    if not hasattr(os, "sched_getaffinity"):
        return ()
    first = {_core_of(cpu): cpu for cpu in sorted(os.sched_getaffinity(0), reverse=True)}
    return tuple(sorted(first.values()))


def _core_of(cpu: int) -> str:
    """A text that all hardware threads of one core have in common."""
    path = CPU_FOLDER / f"cpu{cpu}" / "topology" / "thread_siblings_list"
    return path.read_text(encoding="ascii").strip() if path.exists() else str(cpu)


def _quota_cores(path: Path) -> int:
    """How many processors the control group grants, rounded up; all of them without a quota."""
    if path.exists():
        quota, period = path.read_text(encoding="ascii").split()
        if quota != "max":
            return ceil(int(quota) / int(period))
    return os.cpu_count() or 1
