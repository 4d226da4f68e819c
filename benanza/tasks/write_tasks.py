"""`benanza tasks`: the calls of a bound with the largest gap as problems that stand alone."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from benanza.installation.configured import configured_log, known_store
from benanza.looking.bounds import matching_bounds
from benanza.looking.explain import explained
from benanza.looking.model_ids import model_ids
from benanza.looking.stored_bound import StoredBound
from benanza.operating.retry import jobs_of
from benanza.request import BoundPolicy
from benanza.results.explain import Explanation
from benanza.tasks.choosing import Gap, gaps
from benanza.tasks.formats.flashinfer import write_flashinfer
from benanza.tasks.formats.shared import UnknownTypeError, op_type
from benanza.tasks.formats.sol_execbench import write_sol_execbench
from benanza.tasks.inputs import drawn_by_numpy, drawn_by_torch, holds, is_any_number
from benanza.tasks.references.operation import NoReferenceError
from benanza.tasks.references.write import reference
from benanza.tasks.results import UnwrittenTask, WrittenTask, WrittenTasks
from benanza.tasks.task import TASK, Task, TaskTensor, task_bytes
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.onnx_schemas import UnknownVersionError, numpy_dtype
from benanza_runner.onnx_layers.precision import PrecisionError, retyped
from benanza_runner.onnx_layers.random_values import random_value
from benanza_runner.submitted.signature import (
    KernelOperand,
    Signature,
    SignatureError,
    signature_of,
)
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Layer, Precision

NO_JOB = "its layer isn't in the log here: publish the model where the tasks are to be written"

AT_LIGHT = "it takes no longer than its speed of light: by these ceilings no kernel takes less"

CUDA = "cuda"
"""The runtime of GPUs."""

FLASHINFER, SOL_EXECBENCH = "flashinfer-trace", "sol-execbench"
"""The folders of these formats."""


class Wanted(NamedTuple):
    """Whose tasks are wanted, and how many. No `system` is the only one that has a bound."""

    model: str
    precision: Precision
    system: str
    dims: Mapping[str, int]
    limit: int


def write_tasks(settings: Settings, wanted: Wanted, out: Path) -> WrittenTasks:
    """Writes tasks into folders of `out`, those with the largest gap first.

    A kind of calls for which nothing can be written is named with its reason. Raises `BenanzaError`
    for a model without such a bound, for one with several, and if something of `out` can't be
    written.
    """
    with known_store(settings) as store:
        bound = _bound(store, settings, wanted)
        explanation = explained(StoredBound.of(store, bound), {})
    found = gaps(explanation)
    with configured_log(settings) as log:
        jobs, _ = jobs_of(log, [gap.call.fingerprint for gap in found])
    tasks: list[WrittenTask] = []
    unwritten: list[UnwrittenTask] = []
    for gap in found:
        if len(tasks) == wanted.limit:
            break
        if not gap.us:
            unwritten.append(_unwritten(gap, AT_LIGHT))
            continue
        try:
            job = jobs.get(gap.call.fingerprint)
            if job is None:
                raise SignatureError(NO_JOB)
            tasks.append(_write(out, len(tasks) + 1, gap, job.layer, explanation))
        except (SignatureError, PrecisionError, UnknownVersionError) as error:
            unwritten.append(_unwritten(gap, str(error)))
        except OSError as error:
            raise BenanzaError(f"can't write into {out}: {error.strerror}") from error
    return WrittenTasks(
        model=bound.model,
        system=bound.system,
        system_id=bound.system_id,
        precision=bound.precision,
        tasks=tuple(tasks),
        unwritten=tuple(unwritten),
    )


def _bound(store: Store, settings: Settings, wanted: Wanted) -> ModelBound:
    ids = model_ids(store, [wanted.model], limits_of(settings))
    policy = BoundPolicy((wanted.precision,))
    found = [
        bound
        for bound in matching_bounds(store.bounds(ids), policy, wanted.dims)
        if bound.sequential_us is not None and bound.system_id.startswith(wanted.system)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise BenanzaError(
            f"{wanted.model} has no such bound at {wanted.precision}; benanza bounds shows those "
            "that are known"
        )
    several = ", ".join(
        f"batch {bound.batch} on {bound.system} ({bound.runtime}, --system {bound.system_id[:8]})"
        for bound in found
    )
    raise BenanzaError(
        f"{wanted.model} has several bounds at {wanted.precision}: {several}; say which with "
        "--system or --dim batch=N"
    )


def _unwritten(gap: Gap, reason: str) -> UnwrittenTask:
    return UnwrittenTask(op=gap.call.op, layer=gap.call.layers[0], gap_us=gap.us, reason=reason)


def _write(out: Path, number: int, gap: Gap, layer: Layer, of: Explanation) -> WrittenTask:
    """Writes one task. Raises what `retyped` and `signature_of` raise, and `OSError`."""
    bound, call = of.bound, gap.call
    typed = retyped(layer, bound.precision)
    signature = signature_of(typed)
    programs, lacks = _programs(typed, signature)
    task = Task(
        name=f"{op_type(call.op)}_{call.fingerprint[:12]}",
        op=call.op,
        model=bound.model,
        layers=call.layers,
        calls=gap.calls,
        system=bound.system,
        system_id=bound.system_id,
        precision=bound.precision,
        fingerprint=call.fingerprint,
        layer=layer,
        inputs=tuple([_tensor(each, holds(layer, each)) for each in signature.inputs]),
        outputs=tuple([_tensor(each, "") for each in signature.outputs]),
        c_functions=signature.c_prototypes(on_gpu=bound.runtime == CUDA),
        tolerance=PRECISIONS[bound.precision].tolerance,
        known_us=call.us,
        known_by=f"{call.library} {call.algorithm}",
        light_us=call.roofline_us,
        limited_by=call.limited_by,
        gap_us=gap.us,
        lacks=(),
    )
    folder = out / f"{number:02d}-{task.name}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in programs.items():
        (folder / name).write_text(source, encoding="utf-8")
    lacks += _in_formats(out, task, typed, signature, programs)
    (folder / TASK).write_bytes(task_bytes(replace(task, lacks=tuple(lacks))))
    return WrittenTask(
        folder=folder.name,
        name=task.name,
        op=task.op,
        layer=task.layers[0],
        calls=task.calls,
        known_us=task.known_us,
        known_by=task.known_by,
        light_us=task.light_us,
        limited_by=task.limited_by,
        gap_us=task.gap_us,
        lacks=tuple(lacks),
    )


IN_NUMPY, IN_TORCH = "reference.py", "reference_torch.py"


def _programs(layer: Layer, signature: Signature) -> tuple[dict[str, str], list[str]]:
    """The references that can be written, by file, and why others can't."""
    programs: dict[str, str] = {}
    lacks: list[str] = []
    try:
        numpy = reference(layer, signature, "numpy") + drawn_by_numpy(layer, signature)
        programs[IN_NUMPY] = numpy
    except NoReferenceError as error:
        lacks.append(f"{IN_NUMPY}: {error}")
    try:
        programs[IN_TORCH] = reference(layer, signature, "torch") + drawn_by_torch(layer, signature)
    except NoReferenceError as error:
        lacks.append(f"{IN_TORCH}: {error}")
    return programs, lacks


def _in_formats(
    out: Path, task: Task, layer: Layer, signature: Signature, programs: Mapping[str, str]
) -> list[str]:
    """Writes the task in the formats of others; returns in which it can't be, and why."""
    if IN_TORCH not in programs:
        return [f"{FLASHINFER} and {SOL_EXECBENCH}: they want a reference in PyTorch"]
    lacks = []
    try:
        fixed = dict(_fixed(layer, signature.inputs))
        write_flashinfer(out / FLASHINFER, task, programs[IN_TORCH], fixed)
    except UnknownTypeError as error:
        lacks.append(f"{FLASHINFER}: {error}")
    try:
        write_sol_execbench(out / SOL_EXECBENCH / task.name, task, programs[IN_TORCH])
    except UnknownTypeError as error:
        lacks.append(f"{SOL_EXECBENCH}: {error}")
    return lacks


def _fixed(layer: Layer, operands: Iterable[KernelOperand]) -> Iterable[tuple[str, Array]]:
    """Elements for the inputs that may not hold any numbers."""
    for operand in operands:
        if not is_any_number(layer, operand):
            value = random_value(layer, operand.index)
            yield operand.name, np.asarray(value, numpy_dtype(operand.dtype))


def _tensor(operand: KernelOperand, held: str) -> TaskTensor:
    return TaskTensor(operand.name, operand.dtype, operand.shape, operand.constant, held)
