"""Which runtime measures the layers."""

from benanza.request import RuntimeChoice
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_runner import nvidia
from benanza_runner.isolated_runtime import IsolatedRuntime, Limits

ONNX_RUNTIME = "benanza_runner.onnxruntime_runtime:OnnxRuntime"


def open_runtime(choice: RuntimeChoice, settings: Settings) -> IsolatedRuntime:
    """The runtime asked for, in a process of its own; close it after use.

    Raises `BenanzaError` if there is none such here.
    """
    if choice == "cuda":
        raise BenanzaError(
            "--runtime cuda needs a runtime over cuDNN and cuBLAS, which this version of benanza "
            "does not have yet; --runtime onnxruntime measures on this machine"
        )
    limits = Limits(layer_seconds=settings.benchmark_timeout_s)
    return IsolatedRuntime(ONNX_RUNTIME, {"device": device()}, limits)


def device() -> str:
    """Where ONNX Runtime runs layers: `cuda` if it can use a GPU that is there, else `cpu`."""
    import onnxruntime

    usable = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    return "cuda" if usable and nvidia.gpu().name else "cpu"
