"""Tasks as definitions and workloads of FlashInfer-Trace."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from benanza.tasks.formats.safetensors import write_safetensors
from benanza.tasks.formats.shared import Json, definition
from benanza.tasks.task import Task
from benanza_runner.arrays import Array

TYPES = {
    **{name: name for name in ("float32", "float16", "bfloat16", "bool")},
    **{name: name for name in ("int64", "int32", "int16", "int8")},
}


def write_flashinfer(folder: Path, task: Task, reference: str, fixed: Mapping[str, Array]) -> None:
    """Writes a task into a dataset: its definition, a workload, and in a file of the workload the
    inputs that may not hold any numbers.

    `reference` is in PyTorch. Raises `UnknownTypeError` as `definition` does.
    """
    document = definition(task, reference, TYPES)
    kind = document["op_type"]
    blob = Path("blob") / "workloads" / kind / f"{task.name}.safetensors"
    inputs: Json = {tensor.name: {"type": "random"} for tensor in task.inputs}
    if fixed:
        write_safetensors(folder / blob, fixed)
        for name in fixed:
            inputs[name] = {"type": "safetensors", "path": blob.as_posix(), "tensor_key": name}
    workload = {"axes": {}, "inputs": inputs, "uuid": task.fingerprint}
    trace = {"definition": task.name, "workload": workload, "solution": None, "evaluation": None}
    _write(folder / "definitions" / kind / f"{task.name}.json", document | {"tags": ["benanza"]})
    _write(folder / "workloads" / kind / f"{task.name}.jsonl", trace, lines=True)


def _write(path: Path, document: Json, *, lines: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    encoded = msgspec.json.encode(document)
    path.write_bytes((encoded if lines else msgspec.json.format(encoded)) + b"\n")
