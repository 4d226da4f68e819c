"""How much memory a layer takes, and how much there is."""

from math import prod
from pathlib import Path

import psutil

from benanza_runner.onnx_layers.precision import ELEMENT_TYPE
from benanza_schemas.element_types import BITS, size_bytes
from benanza_schemas.layer import Layer, Precision

SHARE = 0.8
"""Of the memory that is free, what a benchmark may take."""

PROCESS_BYTES = 600_000_000
"""What a process with its libraries takes before it reads a layer."""

CONTROL_GROUPS = Path("/sys/fs/cgroup")


def needed_bytes(layer: Layer, precision: Precision) -> int:
    """About what it takes to run the layer: each tensor once, weights twice.

    Libraries keep weights in an order of their own beside the original.
    """
    total = 0
    for tensor in layer.tensors:
        if tensor.dtype in BITS:
            dtype = ELEMENT_TYPE[precision] if tensor.dtype in _FLOATS else tensor.dtype
            total += size_bytes(dtype, prod(tensor.shape)) * (2 if tensor.constant else 1)
    return total


_FLOATS = frozenset(ELEMENT_TYPE.values())


def free_bytes(control_groups: Path = CONTROL_GROUPS) -> int:
    """Memory that this process could still get: of the machine's and of its control group's."""
    available = int(psutil.virtual_memory().available)
    limit = control_groups / "memory.max"
    used = control_groups / "memory.current"
    if limit.exists() and used.exists():
        text = limit.read_text(encoding="ascii").strip()
        if text != "max":
            left = int(text) - int(used.read_text(encoding="ascii"))
            available = min(available, max(left, 0))
    return available
