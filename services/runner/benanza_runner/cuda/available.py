"""Whether layers can be timed on a GPU here, found out without loading what that takes."""

from importlib.util import find_spec

from benanza_runner import nvidia

MODULES = ("cupy", "cudnn", "nvmath", "pynvml")


def why_unavailable() -> str | None:
    """What is missing, and how to mend it, or None."""
    if not nvidia.gpu().name:
        return "needs an NVIDIA GPU and its driver, and there is none here"
    missing = [name for name in MODULES if find_spec(name) is None]
    if missing:
        return f"lacks {', '.join(missing)}; say: pip install 'benanza[cuda]'"
    return None
