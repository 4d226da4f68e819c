"""Where a submitted kernel runs: its worker, and how it is timed there."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benanza_runner.submitted.outcome import KernelLimits

_INHERITED = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_PATH", "CUDA_HOME")


class KernelDevice(NamedTuple):
    """`worker` is the module of the worker. About so long a timed window is, which ends at a time
    between half of it and one and a half, and there are so many `windows` of each kind of inputs.
    A device that `is_asynchronous` is given several calls at a time, which take about `graph_us`;
    the time that passes counts there.
    """

    worker: str
    limits: KernelLimits
    window_s: float
    windows: int
    is_asynchronous: bool = False
    graph_us: float = 0.0

    def environment(self, threads: int, folder: Path) -> Mapping[str, str]:
        """The variables of the worker's environment. What it compiles it may lay into the folder,
        as long as it loads the kernel.
        """
        counts = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        if not self.is_asynchronous:
            return counts
        found = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        folders = ("HOME", "TMPDIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
        caches = {"CUPY_CACHE_IN_MEMORY": "1", "CUDA_CACHE_DISABLE": "1"}
        return {**counts, **found, **dict.fromkeys(folders, str(folder)), **caches}


ON_CPU = KernelDevice("benanza_runner.submitted.on_cpu.worker", KernelLimits(), 0.002, 60)
ON_GPU = KernelDevice(
    "benanza_runner.submitted.on_gpu.worker",
    KernelLimits(memory_bytes=32_000_000_000),
    *(0.008, 20),
    is_asynchronous=True,
    graph_us=300.0,
)
