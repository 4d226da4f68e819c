"""Opens the runtime that measures layers."""

from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_runner import nvidia
from benanza_runner.cuda.available import why_unavailable
from benanza_runner.isolation.isolated_runtime import IsolatedRuntime, WorkerLimits
from benanza_runner.runtime import RuntimeChoice

ONNX_RUNTIME = "benanza_runner.onnxruntime.runtime:OnnxRuntime"
CUDA = "benanza_runner.cuda.runtime:CudaRuntime"

JOURNAL = "cuda-variants-running"
"""The file in the data folder that says which variant is being run, one for each GPU."""

CUDA_TRIES = 5
"""Each lost worker costs one variant, and the others of its layer are tried again."""


def open_runtime(choice: RuntimeChoice, settings: Settings) -> IsolatedRuntime:
    """The runtime asked for, in a process of its own. Close it after use.

    `auto` is the GPU if there is one and its libraries are installed, else ONNX Runtime. Raises
    `BenanzaError` if the runtime can't be used here.
    """
    limits = WorkerLimits(layer_seconds=settings.benchmark_timeout_s)
    unavailable = why_unavailable() if choice != "onnxruntime" else "not asked for"
    if choice == "cuda" and unavailable:
        raise BenanzaError(f"the runtime cuda {unavailable}")
    if unavailable:
        return IsolatedRuntime(ONNX_RUNTIME, {"device": device()}, limits)
    settings.data.mkdir(parents=True, exist_ok=True)
    journal = settings.data / f"{JOURNAL}-{nvidia.visible().replace('/', '-')}"
    journal.unlink(missing_ok=True)
    limits = limits._replace(tries=CUDA_TRIES)
    return IsolatedRuntime(CUDA, {"journal": str(journal)}, limits)


def longest_job_s(settings: Settings) -> float:
    """The longest that a runner may take for a layer at a precision, in seconds, with any runtime.

    It measures the ceilings first. Each try may have to start a worker, and where that worker was
    slow, all tries are made again in another one.
    """
    limits = WorkerLimits(layer_seconds=settings.benchmark_timeout_s, tries=CUDA_TRIES)
    ceilings = limits.start_seconds + limits.ceilings_seconds
    return ceilings + 2 * limits.tries * (limits.start_seconds + limits.layer_seconds)


def device() -> str:
    """Where ONNX Runtime runs layers: `cuda` if it can use a GPU that is there, else `cpu`."""
    import onnxruntime

    usable = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    return "cuda" if usable and nvidia.gpu().name else "cpu"
