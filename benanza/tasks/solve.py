"""`benanza solve`: a submitted kernel is checked and timed, and becomes a variant of its layer."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import file_digest
from pathlib import Path

import msgspec

from benanza.installation.configured import configured_log
from benanza.tasks.compiling import compiled
from benanza.tasks.light import light_of
from benanza.tasks.results import SolvedTask
from benanza.tasks.task import Task, read_task
from benanza_analyzer.limits.speed_of_light import SpeedOfLight
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.standing import standing_measurements
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_runner.cuda.available import why_unavailable
from benanza_runner.isolation import device_turn
from benanza_runner.isolation.device_turn import DeviceTurn
from benanza_runner.measuring.busy import doubts_in
from benanza_runner.onnx_layers.onnx_schemas import UnknownVersionError
from benanza_runner.onnx_layers.precision import PrecisionError, retyped
from benanza_runner.reasons import short_reason
from benanza_runner.runtimes import open_runtime
from benanza_runner.submitted.device import ON_CPU, ON_GPU
from benanza_runner.submitted.outcome import KernelLimits, RefusedError, TimedKernel
from benanza_runner.submitted.referee import judged
from benanza_runner.submitted.signature import SignatureError, signature_of
from benanza_runner.variants import timed_variant, warm
from benanza_schemas.events import MARK, LayerMeasured, System, Variant, event_id
from benanza_schemas.identity import fingerprint_of_canonical
from benanza_schemas.times import time_us
from benanza_schemas.vocabulary import SUBMITTED, StoppedBy

DIGITS = 8
"""So many of a file's SHA-256 tell it from others of its name."""


def solve(
    path: Path, kernel: Path, author: str, settings: Settings, limits: KernelLimits | None = None
) -> SolvedTask:
    """Times a kernel on this machine as a solution of a task, and publishes that as a measurement.

    The kernel is a module of Python, a shared library, or a file of C or CUDA C++, which is
    compiled. `limits` are those of the device unless others are given. Raises `BenanzaError` if it
    is refused, with what it did, and if the task is none of this system; then nothing is published.
    """
    task = read_task(path)
    digest = _digest(kernel)
    system = _this_system(task, settings)
    known = _known_variants(task, system, settings)
    try:
        signature = signature_of(retyped(task.layer, task.precision))
        on_gpu = bool(system.accelerator)
        turn = DeviceTurn(device_turn.gpu() if on_gpu else (), alone=True)
        with compiled(kernel) as runnable, turn:
            timed = judged(
                *(task.layer, signature, task.precision, runnable, system.threads),
                ON_GPU if on_gpu else ON_CPU,
                limits,
            )
    except (SignatureError, PrecisionError, UnknownVersionError) as error:
        raise BenanzaError(f"{task.name} can't be solved: {error}") from error
    except RefusedError as error:
        raise BenanzaError(f"{kernel.name} is refused: {error}") from error
    except BenanzaError:
        raise
    except Exception as error:  # ONNX Runtime's errors share no narrower base
        why = short_reason(str(error))
        raise BenanzaError(f"what {task.name} should give can't be computed: {why}") from error
    algorithm = f"{author}/{kernel.name} {digest[:DIGITS]}"
    measured_at = now()
    with configured_log(settings) as log:
        variant = _variant(algorithm, timed, known)
        _check_light(light_of(log, system.system_id, task.layer, task.precision), variant)
        best = min(known, key=time_us)
        event = _event(task, system, variant, timed, digest, measured_at)
        log.append([as_message(event)])
    us, iqr_us = time_us(variant)
    return SolvedTask(
        task=task.name,
        author=author,
        algorithm=algorithm,
        us=us,
        iqr_us=iqr_us,
        calls=timed.calls,
        known_us=time_us(best)[0],
        known_by=f"{best.library} {best.algorithm}",
        stable=not doubts_in(timed.environment),
        unconfined=timed.unconfined,
    )


def _known_variants(task: Task, system: System, settings: Settings) -> list[Variant]:
    """Those of the task's layer that nobody submitted. Raises `BenanzaError` if there are none."""
    with configured_log(settings) as log:
        known = [
            variant
            for _, event in standing_measurements(log, (task.fingerprint.encode(),))
            if (event.system, event.precision) == (system, task.precision)
            for variant in warm(event.variants)
            if variant.library != SUBMITTED
        ]
    if not known:
        raise BenanzaError(
            f"nothing is known of the layer of {task.name} here; measure {task.model} into "
            "this data folder first: benanza run"
        )
    return known


def _this_system(task: Task, settings: Settings) -> System:
    """This machine as the runner describes it. Raises `BenanzaError` unless it is the task's."""
    if fingerprint_of_canonical(task.layer) != task.fingerprint:
        raise BenanzaError(
            f"the layer of {task.name} isn't that of its fingerprint; write the task anew"
        )
    systems = []
    for system in _systems(settings):
        if system.system_id == task.system_id:
            return system
        systems.append(system)
    names = ", ".join(
        f"{system.accelerator or system.cpu} ({system.system_id[:8]})" for system in systems
    )
    raise BenanzaError(
        f"{task.name} is a task of {task.system} ({task.system_id[:8]}), and this is {names}; "
        "solve it there, or write tasks for here"
    )


def _systems(settings: Settings) -> Iterator[System]:
    """What kernels can be tried on here: the CPU, and the GPU if there is one, each as one runtime
    describes it.
    """
    if not why_unavailable():
        with open_runtime("cuda", settings) as opened:
            yield opened.system()
    with open_runtime("onnxruntime", settings) as opened:
        system = opened.system()
        if not system.accelerator:
            yield system


def _variant(algorithm: str, timed: TimedKernel, known: Sequence[Variant]) -> Variant:
    """The kernel has feature maps in ONNX's layout. Where a library's variant of it has them
    changed for its neighbours, this one's have to be, too.
    """
    own = timed_variant(SUBMITTED, algorithm, timed.samples_us, StoppedBy.FIXED)
    plain = [each for each in known if each.layout in ("", "NCHW")]
    if not plain:
        raise BenanzaError("this layer was measured only in layouts that a kernel can't have here")
    for each in plain:
        return msgspec.structs.replace(
            own,
            layout=each.layout,
            layout_change_us=each.layout_change_us,
            write_change_us=each.write_change_us,
        )
    return own


def _check_light(light: SpeedOfLight, variant: Variant) -> None:
    """Raises `BenanzaError` for a time that no work can take here."""
    us, _ = time_us(variant)
    if us < light.us:
        raise BenanzaError(
            f"{variant.algorithm} is refused: it took {us:.3g} µs, and by the ceilings of this "
            f"system ({light.limited_by}) nothing takes less than {light.us:.3g} µs; it left "
            "work out, or the ceilings are too low: measure them anew, with another data folder"
        )


def _event(
    task: Task,
    system: System,
    variant: Variant,
    timed: TimedKernel,
    digest: str,
    measured_at: datetime,
) -> LayerMeasured:
    causes = (task.fingerprint, system.system_id, task.precision, digest, measured_at.isoformat())
    environment = {MARK: digest, "calls": str(timed.calls), **timed.environment}
    return LayerMeasured(
        event_id=event_id("LayerMeasured", *causes),
        fingerprint=task.fingerprint,
        system=system,
        precision=task.precision,
        measured_at=measured_at,
        variants=(variant,),
        environment=environment,
    )


def _digest(kernel: Path) -> str:
    try:
        with kernel.open("rb") as content:
            return file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise BenanzaError(f"can't read {kernel} ({error.strerror}); name a kernel") from error
