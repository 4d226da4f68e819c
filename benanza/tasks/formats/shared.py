"""What FlashInfer-Trace and SOL-ExecBench have in common: names, axes and tensors.

https://github.com/flashinfer-ai/flashinfer-bench and https://github.com/NVIDIA/SOL-ExecBench, whose
format follows from the former, have the schemas.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from benanza.tasks.task import Task, TaskTensor

Json = dict[str, Any]

LONGEST = 40


class UnknownTypeError(ValueError):
    """A format has no name for an element type."""


def op_type(op: str) -> str:
    """The operators in order as one word that files can be named by: `conv_relu`."""
    return re.sub(r"[^a-z0-9_]", "", op.lower().replace("+", "_"))[:LONGEST].strip("_")


def definition(task: Task, reference: str, types: Mapping[str, str]) -> Json:
    """What both formats say of a task. Raises `UnknownTypeError` for a type not in `types`."""
    operands = (*task.inputs, *task.outputs)
    sizes = sorted({size for operand in operands for size in operand.shape})
    return {
        "name": task.name,
        "op_type": op_type(task.op),
        "description": described(task),
        "axes": {f"n{size}": {"type": "const", "value": size} for size in sizes},
        "inputs": _tensors(task.inputs, types),
        "outputs": _tensors(task.outputs, types),
        "reference": reference,
    }


def described(task: Task) -> str:
    """A task in one line."""
    light = "" if task.light_us is None else f"; speed of light {task.light_us:.2f} µs"
    limit = f" ({task.limited_by})" if task.limited_by else ""
    return (
        f"{task.op} of {task.model}, {task.calls} times, at {task.precision} on {task.system}: "
        f"{task.known_us:.2f} µs by {task.known_by}{light}{limit}"
    )


def _tensors(tensors: Iterable[TaskTensor], types: Mapping[str, str]) -> Json:
    found = {}
    for tensor in tensors:
        if tensor.dtype not in types:
            raise UnknownTypeError(f"it has no {tensor.dtype}")
        found[tensor.name] = {
            "shape": [f"n{size}" for size in tensor.shape],
            "dtype": types[tensor.dtype],
            "description": tensor.holds or None,
        }
    return found
