"""Whether layers can be timed on a GPU here. It loads none of the libraries for that."""

import os
from importlib.util import find_spec

from benanza_runner import nvidia

MODULES = ("cuda.bindings", "cupy", "cudnn", "nvmath", "pynvml")


def why_unavailable() -> str | None:
    """What the GPU runtime lacks here, and how to mend it; None if it lacks nothing."""
    if not nvidia.gpu().name:
        reason = "needs an NVIDIA GPU and its driver, and there is none here"
        chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
        return reason if chosen is None else f"{reason} that CUDA_VISIBLE_DEVICES={chosen} names"
    missing = [name for name in MODULES if not _there(name)]
    if missing:
        return f"lacks {', '.join(missing)}; say: pip install 'benanza[cuda]'"
    return None


def _there(module: str) -> bool:
    package = module.partition(".")[0]
    return find_spec(package) is not None and find_spec(module) is not None
