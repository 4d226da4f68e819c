"""Opens the runtime that measures layers: one of those that are installed, by its name.

Others than Benanza's own are entry points of the group `benanza.runtimes`: functions with the
arguments and results of `open_cuda`.
"""

import atexit
import os
import re
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import entry_points
from math import inf
from pathlib import Path
from socket import gethostname
from stat import S_ISREG
from tempfile import gettempdir, mkstemp

from psutil import NoSuchProcess, Process

from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_runner import nvidia
from benanza_runner.cpu import available_cores
from benanza_runner.cuda.available import why_unavailable
from benanza_runner.isolation import device_turn
from benanza_runner.isolation.device_turn import LONGEST_TURN_S, DeviceTurn
from benanza_runner.isolation.isolated_runtime import IsolatedRuntime, WorkerLimits
from benanza_runner.isolation.memory import SHARE, free_bytes
from benanza_runner.isolation.worker_pool import WorkerPool

AUTO = "auto"
"""The name of the best of Benanza's own runtimes that works here."""

ENTRY_POINTS = "benanza.runtimes"

ONNX_RUNTIME = "benanza_runner.onnxruntime.runtime:OnnxRuntime"
CUDA = "benanza_runner.cuda.runtime:CudaRuntime"

JOURNAL = "cuda-variants-running"
"""The files in the data folder that say which variant is being run, one for each worker of a GPU.
"""

CPU_JOURNAL = "benanza-cpu-variants-running-"
"""How files begin that say so on a CPU, where several runners may share a data folder: each has one
of its own, while its process lasts. The host's name follows, which a container has of its own, and
the process's id.
"""

MOST_TRIES = 5
"""Each lost worker costs one variant, and the others of its layer are tried again."""


MOST_WORKERS = 8
"""So many processes prepare layers for one GPU. On an H200 with 16 cores more were no faster."""

CORES_OF_WORKER = 2
MEMORY_OF_WORKER = 4_000_000_000
"""Bytes of the machine's memory that there have to be for each worker of a GPU."""


Opened = IsolatedRuntime | WorkerPool
"""A runtime in processes of its own, to be closed after use."""


def runtime_names() -> tuple[str, ...]:
    """What `open_runtime` knows: `auto`, and the runtimes that are installed."""
    return (AUTO, *sorted({entry.name for entry in entry_points(group=ENTRY_POINTS)}))


def open_runtime(name: str, settings: Settings) -> Opened:
    """The runtime of this name, in processes of its own. Close it after use.

    `auto` is the GPU if there is one and its libraries are installed, else ONNX Runtime. Raises
    `BenanzaError` if there is no such runtime, or if it can't be used here.
    """
    if name == AUTO:
        name = "onnxruntime" if why_unavailable() else "cuda"
    known = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if not known:
        raise BenanzaError("no runtimes are installed; install benanza again")
    if name not in known:
        raise BenanzaError(f"there is no runtime {name!r}; give {' or '.join(runtime_names())}")
    try:
        open_it: Callable[[Settings], Opened] = known[name].load()
    except ImportError as error:
        raise BenanzaError(f"the runtime {name} can't be loaded: {error}; install it") from error
    return open_it(settings)


def open_cuda(settings: Settings) -> Opened:
    """The GPU. Raises `BenanzaError` if there is none, or its libraries aren't installed."""
    if unavailable := why_unavailable():
        raise BenanzaError(f"the runtime cuda {unavailable}")
    _make_folder(settings.data)
    return cuda_workers(settings.data, _limits(settings), runners=settings.runners)


def open_onnxruntime(settings: Settings) -> Opened:
    """ONNX Runtime, on the GPU if it can use one, else on the CPU, beside other libraries."""
    _make_folder(settings.data)
    on = device()
    arguments: dict[str, str | int | float | bool] = {
        "device": on,
        "libraries": settings.cpu_libraries,
        "journal": str(_own_journal()),
        "seconds": settings.benchmark_timeout_s,
    }
    limits = _limits(settings)._replace(tries=MOST_TRIES)
    turn = DeviceTurn(device_turn.gpu() if on == "cuda" else device_turn.cores(), alone=True)
    return IsolatedRuntime(ONNX_RUNTIME, arguments, limits, turn=turn)


def _own_journal() -> Path:
    # Hosts and containers may share a folder, and can't see each other's processes.
    prefix = f"{CPU_JOURNAL}{re.sub(r'[^A-Za-z0-9.-]', '_', gethostname())}-"
    _remove_left_journals(Path(gettempdir()), prefix)
    file, name = mkstemp(prefix=f"{prefix}{os.getpid()}-")
    os.close(file)
    atexit.register(Path(name).unlink, missing_ok=True)
    return Path(name)


def _remove_left_journals(folder: Path, prefix: str) -> None:
    """Those of processes of this host and user that were killed, also where another process has the
    id since, as in a container that starts again.
    """
    for path in folder.glob(f"{prefix}*"):
        process = re.fullmatch(rf"{re.escape(prefix)}(\d+)-\w+", path.name)
        with suppress(OSError):
            status = path.lstat()
            is_own = S_ISREG(status.st_mode) and status.st_uid == os.getuid()
            if process and is_own and status.st_mtime < _started(int(process[1])):
                path.unlink()


def _started(process: int) -> float:
    """When it did, in Unix time; infinity if there is no such process."""
    try:
        return float(Process(process).create_time())
    except (NoSuchProcess, OverflowError):
        return inf


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BenanzaError(f"{folder}, the data folder, can't be made: {error.strerror}") from error


def _limits(settings: Settings) -> WorkerLimits:
    return WorkerLimits(layer_seconds=settings.benchmark_timeout_s)


def cuda_workers(
    folder: Path, limits: WorkerLimits, *, interleaved: bool = True, runners: int = 1
) -> WorkerPool:
    """Workers for the first GPU, as many as the machine has cores and memory for.

    So many `runners` share these. The workers' journals lie in the folder. `interleaved` is that
    of `CudaRuntime`.
    """
    memory_bytes = int(free_bytes() * SHARE) // runners
    cores = available_cores() // runners
    fitting = min(cores // CORES_OF_WORKER, memory_bytes // MEMORY_OF_WORKER)
    workers = max(1, min(MOST_WORKERS, fitting))
    limits = limits._replace(tries=MOST_TRIES)

    def worker(number: int) -> IsolatedRuntime:
        journal = folder / f"{JOURNAL}-{nvidia.visible().replace('/', '-')}-{number}"
        journal.unlink(missing_ok=True)
        arguments: dict[str, str | int | bool] = {
            "journal": str(journal),
            "interleaved": interleaved,
        }
        # The workers take turns with each other by themselves (`device_lock`).
        turn = DeviceTurn(device_turn.gpu(), alone=False)
        return IsolatedRuntime(CUDA, arguments, limits, memory_bytes // workers, turn)

    return WorkerPool(worker, workers)


def longest_job_s(settings: Settings) -> float:
    """The longest that a runner may take for a layer at a precision, in seconds, with any runtime.

    It waits for its turn on the device, and measures the ceilings first. Each try may have to start
    a worker, and where that worker was slow, all tries are made again in another one.
    """
    limits = WorkerLimits(layer_seconds=settings.benchmark_timeout_s, tries=MOST_TRIES)
    ceilings = limits.start_seconds + limits.ceilings_seconds
    tries_s = 2 * limits.tries * (limits.start_seconds + limits.layer_seconds)
    return LONGEST_TURN_S + ceilings + tries_s


def device() -> str:
    """Where ONNX Runtime runs layers: `cuda` if it can use a GPU that is there, else `cpu`."""
    import onnxruntime

    usable = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    return "cuda" if usable and nvidia.gpu().name else "cpu"
