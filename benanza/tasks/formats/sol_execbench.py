"""Tasks as problems of SOL-ExecBench: a folder with a definition and a workload each."""

from pathlib import Path

import msgspec

from benanza.tasks.formats.shared import definition
from benanza.tasks.task import Task

TYPES = {
    **{name: name for name in ("float64", "float32", "float16", "bfloat16", "bool")},
    **{name: name for name in ("int64", "int32", "int16", "int8")},
}

MATCHED = 0.99
"""The share of elements that have to be right, each by itself, to the tolerance. Benanza compares
norms of whole results: the one doesn't follow from the other.
"""


def write_sol_execbench(folder: Path, task: Task, reference: str) -> None:
    """Writes a task into its folder. `reference` is in PyTorch, and has a function `inputs` beside
    `run`. Raises `UnknownTypeError` as `definition` does.
    """
    document = definition(task, reference, TYPES) | {"custom_inputs_entrypoint": "inputs"}
    workload = {
        "axes": {},
        "inputs": {tensor.name: {"type": "custom"} for tensor in task.inputs},
        "uuid": task.fingerprint,
        "tolerance": {
            "max_atol": task.tolerance,
            "max_rtol": task.tolerance,
            "required_matched_ratio": MATCHED,
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    formatted = msgspec.json.format(msgspec.json.encode(document))
    (folder / "definition.json").write_bytes(formatted + b"\n")
    (folder / "workload.jsonl").write_bytes(msgspec.json.encode(workload) + b"\n")
