"""Reads how busy this machine is."""

import os
import resource
import time
from pathlib import Path

import psutil

from benanza_runner.measuring.busy import Load

PROCESSES = Path("/proc")


def machine_load() -> Load:
    """The counters of the processors that this process may use, and of its threads."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    processors = [
        times
        for cpu, times in enumerate(psutil.cpu_times(percpu=True))
        if allowed is None or cpu in allowed
    ]
    usage = resource.getrusage(resource.RUSAGE_SELF)
    busy = ("user", "nice", "system", "irq", "softirq")
    return Load(
        at_s=time.monotonic(),
        cpus=max(1, len(processors)),
        busy_s=sum(getattr(times, name, 0.0) for times in processors for name in busy),
        stolen_s=sum(getattr(times, "steal", 0.0) for times in processors),
        own_s=usage.ru_utime + usage.ru_stime,
        waited_s=_waited_s(os.getpid()),
    )


def longest_wait_s(process: int) -> float:
    """How long that thread of a process waited for a processor so far that waited longest, in
    seconds; 0 where the kernel doesn't say it.
    """
    return max(_waited_s(process).values(), default=0.0)


def _waited_s(process: int) -> dict[int, float]:
    """How long each thread of a process waited for a processor, in seconds, where the kernel says
    it (in nanoseconds).
    """
    waited = {}
    threads = PROCESSES / str(process) / "task"
    for thread in threads.iterdir() if threads.exists() else ():
        try:
            waited[int(thread.name)] = int((thread / "schedstat").read_text().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            continue  # it ended meanwhile, or this kernel doesn't count
    return waited
