"""How much memory a layer takes, and how much is free."""

from math import prod
from pathlib import Path

import psutil

from benanza_schemas.element_types import BITS, FLOATS, PRECISIONS, size_bytes
from benanza_schemas.layer import Layer, Precision

SHARE = 0.8
"""The share of the free memory that a benchmark may take."""

PROCESS_BYTES = 600_000_000
"""How many bytes a process with its libraries takes before it reads a layer."""

CONTROL_GROUPS = Path("/sys/fs/cgroup")


def needed_bytes(layer: Layer, precision: Precision) -> int:
    """About how many bytes it takes to run the layer: each tensor once, and weights twice.

    Libraries keep a copy of weights in an order of their own.
    """
    total = 0
    for tensor in layer.tensors:
        if tensor.dtype in BITS:
            dtype = PRECISIONS[precision].element_type if tensor.dtype in FLOATS else tensor.dtype
            total += size_bytes(dtype, prod(tensor.shape)) * (2 if tensor.constant else 1)
    return total


def free_bytes(control_groups: Path = CONTROL_GROUPS) -> int:
    """How many bytes this process could still get, of the machine's and of its control group's.

    Of the latter's, files that it has read and doesn't use count as free, as in Kubernetes' working
    set: the kernel drops them when room lacks.
    """
    available = int(psutil.virtual_memory().available)
    limit = control_groups / "memory.max"
    used = control_groups / "memory.current"
    if limit.exists() and used.exists():
        text = limit.read_text(encoding="ascii").strip()
        if text != "max":
            taken = int(used.read_text(encoding="ascii"))
            taken -= min(_unused_files_bytes(control_groups / "memory.stat"), taken)
            available = min(available, max(int(text) - taken, 0))
    return available


def _unused_files_bytes(statistics: Path) -> int:
    """https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files"""
    if not statistics.exists():
        return 0
    lines = (line.split() for line in statistics.read_text(encoding="ascii").splitlines())
    return next((int(value) for name, value in lines if name == "inactive_file"), 0)
