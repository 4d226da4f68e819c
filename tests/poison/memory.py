"""How much memory a service takes, beside the limit that it has in `docker-compose.yml`.

Processes are watched: a control group, which would end them, needs rights that CI lacks.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event, Thread

import psutil
import yaml

from benanza_backbone.closing import Closing

COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"
EVERY_S = 0.1

UNITS_BYTES = {"m": 2**20, "g": 2**30}


def limits_bytes(services: tuple[str, ...]) -> dict[str, int]:
    """The `mem_limit` of each service."""
    there = yaml.safe_load(COMPOSE.read_text())["services"]
    limits = {name: there[name]["mem_limit"] for name in services}
    return {name: int(text[:-1]) * UNITS_BYTES[text[-1]] for name, text in limits.items()}


class MemoryWatch(Closing):
    """Keeps the most that each process has taken together with its children.

    That is what a control group can't give back: memory that stands in no file. Between two looks
    the system itself keeps the peak, of the process alone and with what it has mapped.
    """

    def __init__(self, pids: Mapping[str, int]) -> None:
        self.peaks_bytes = dict.fromkeys(pids, 0)
        self._pids = pids
        self._closing = Event()
        self._thread = Thread(target=self._run, name="memory", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(EVERY_S):
            children = _children()
            for name, pid in self._pids.items():
                taken = max(_together_bytes(pid, children), _peak_bytes(pid))
                self.peaks_bytes[name] = max(self.peaks_bytes[name], taken)


def _children() -> Mapping[int, Sequence[int]]:
    """The processes that each process has started. To look through all of them takes a while, so
    this is asked once for all services.
    """
    found: dict[int, list[int]] = {}
    for process in psutil.process_iter(["ppid"]):
        found.setdefault(process.info["ppid"], []).append(process.pid)
    return found


def _together_bytes(pid: int, children: Mapping[int, Sequence[int]]) -> int:
    others = (_together_bytes(child, children) for child in children.get(pid, ()))
    return _own_bytes(pid) + sum(others)


def _own_bytes(pid: int) -> int:
    try:
        info = psutil.Process(pid).memory_info()
    except psutil.NoSuchProcess:
        return 0
    return int(info.rss - info.shared)


def _peak_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return 1024 * int(found[0]) if found else 0
