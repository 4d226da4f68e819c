"""A call of a bound as a problem for others: what it computes, and how fast it is known to be.

It is written as JSON, and read again when a solution is submitted.
"""

from pathlib import Path

import msgspec

from benanza_backbone.errors import BenanzaError
from benanza_schemas.codec import MAX_EVENT_BYTES
from benanza_schemas.events import Limit
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.limits import Hash

TASK = "task.json"

VERSION = 1


class TaskTensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An array that a kernel reads or writes, in row-major order.

    `constant` says that it is a weight. `holds` says in words what an input holds; empty of an
    output.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    constant: bool
    holds: str


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A layer, or a group as one call, in a model's bound on a system at a precision.

    `layer` is in the model's own types; the tensors are in those of the precision. `known_us` is
    the time of the fastest call known of it, `known_by` that call; `light_us` the least time by the
    system's ceilings, of which `limited_by` is the one that holds it, both null where these aren't
    known. The model has `calls` of these, the first of which is of `layers`. `gap_us` is the time
    above the speed of light in all of them. A result is right up to `tolerance`, which is
    ‖result − reference‖ / ‖reference‖. `c_functions` are those of a shared library that solves it.
    `lacks` says which references and formats aren't there, and why. Of all this a solution is
    tried by the layer alone, if it has the fingerprint, and by what is known here of the system.
    """

    version: int = VERSION
    name: str
    op: str
    model: str
    layers: tuple[str, ...]
    calls: int
    system: str
    system_id: Hash
    precision: Precision
    fingerprint: Hash
    layer: Layer
    inputs: tuple[TaskTensor, ...]
    outputs: tuple[TaskTensor, ...]
    c_functions: tuple[str, ...]
    tolerance: float
    known_us: float
    known_by: str
    light_us: float | None
    limited_by: Limit | None
    gap_us: float
    lacks: tuple[str, ...]


_tasks = msgspec.json.Decoder(Task)


def task_bytes(task: Task) -> bytes:
    """The task as a JSON document."""
    return msgspec.json.format(msgspec.json.encode(task)) + b"\n"


def read_task(path: Path) -> Task:
    """The task in a folder, or in a file. Raises `BenanzaError` if there is none."""
    file = path / TASK if path.is_dir() else path
    try:
        if file.stat().st_size > MAX_EVENT_BYTES:
            raise BenanzaError(f"{file} is too large for a task; name one that benanza tasks wrote")
        task = _tasks.decode(file.read_bytes())
    except OSError as error:
        raise BenanzaError(
            f"can't read {file} ({error.strerror}); name a task that benanza tasks wrote"
        ) from error
    except (ValueError, RecursionError) as error:
        raise BenanzaError(f"{file} is no task: {error}; write it anew: benanza tasks") from error
    if task.version != VERSION:
        raise BenanzaError(f"{file} is of another version; write it anew: benanza tasks")
    return task
