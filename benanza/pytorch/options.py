"""What can be set in PyTorch, and what that is good for. It needs no PyTorch."""

from benanza.profiling.framework import Configuration
from benanza.profiling.remedies import Better, Remedies, Remedy
from benanza_analyzer.answers.kinds import InefficiencyKind

LAYOUT = "memory_format"
NHWC = "torch.channels_last"
COMPILED = {"torch.compile": "inductor", "torch._inductor.config.freezing": "True"}
CAPTURED = {"torch.cuda.graph": "True"}
_CAPTURED = "CUDA graph"

_CAPTURE = (
    "capture it as a CUDA graph: with torch.cuda.graph(graph): y = model(x); or model = "
    'torch.compile(model, mode="reduce-overhead")'
)
_COMPILE = "model = torch.compile(model)"
_CHANNELS_LAST = "model = model.to(memory_format=torch.channels_last), likewise its inputs"

_ATTENTION = (
    "see which fused kernel would take it, and why others don't: "
    "with torch.nn.attention.sdpa_kernel(SDPBackend.CUDNN_ATTENTION): model(x)"
)
"""https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.sdpa_kernel.html"""

OF_MAPS = ("conv2d", "pool2d", "batch_norm", "upsample")
"""Parts of the names of operators of feature maps of four axes, whose layout can be chosen."""

_REMEDIES: dict[InefficiencyKind, str] = {
    "conversions and copies": "keep one memory format and one dtype: call .to(memory_format=..., "
    "dtype=...) once on the model and on its inputs, and leave .contiguous() and .to() out of "
    "forward",
    "synchronisation": "keep values on the GPU: leave .item(), .tolist(), .cpu(), and conditions "
    "on values of tensors out of forward",
    "no call needed": "leave these layers out of forward: they compute nothing",
    "more calls": _COMPILE,
}


def configurations(*, on_gpu: bool) -> tuple[Configuration, ...]:
    """Eager and compiled, each in both layouts of feature maps; on a GPU also captured.

    What is compiled is captured there, too, as `torch.compile(mode="reduce-overhead")` does.
    """
    contiguous, channels_last = {LAYOUT: "torch.contiguous_format"}, {LAYOUT: NHWC}
    compiled = COMPILED | CAPTURED if on_gpu else COMPILED
    return (
        Configuration("eager", contiguous),
        Configuration("eager, channels last", channels_last),
        *((Configuration(_CAPTURED, contiguous | CAPTURED),) if on_gpu else ()),
        Configuration("compiled", contiguous | compiled),
        Configuration("compiled, channels last", channels_last | compiled),
    )


class PyTorchRemedies(Remedies):
    """What PyTorch has."""

    def remedy(
        self, kind: InefficiencyKind, op: str, configuration: str, *, on_gpu: bool
    ) -> Remedy | None:
        """What to type; what is compiled or captured already has less to set."""
        do = _REMEDIES.get(kind, "")
        alone = ""
        match kind:
            case "slower call":
                do = _slower(op, configuration, on_gpu)
            case "more calls" if op == "aten.conv2d" and on_gpu:
                # cuDNN converts its layout, and a bias is a call of its own in compiled code, too.
                do = _slower(op, configuration, on_gpu)
            case "between calls" if configuration.startswith("eager"):
                do = _CAPTURE if on_gpu else _COMPILE
                alone = _CAPTURED if on_gpu and configuration == "eager" else ""
            case "more calls" if configuration.startswith("compiled"):
                do = ""
        return Remedy(do, alone) if do else None

    def better(self, configuration: str, *, on_gpu: bool) -> Better | None:
        """What is compiled, in the same layout. On a GPU it is captured as well."""
        if configuration.startswith("compiled"):
            return None
        wanted = "compiled, channels last" if "channels last" in configuration else "compiled"
        compiled = next(known for known in configurations(on_gpu=on_gpu) if known.name == wanted)
        between = not on_gpu or configuration == _CAPTURED
        return Better(compiled, "all but products", between_calls=between)

    def same_calls(self, configuration: str) -> str:
        """What is captured makes the calls of eager mode."""
        return "eager" if configuration == _CAPTURED else ""


def _slower(op: str, configuration: str, on_gpu: bool) -> str:
    if "attention" in op and on_gpu:
        return _ATTENTION
    if any(part in op for part in OF_MAPS) and "channels last" not in configuration:
        return _CHANNELS_LAST + ("; torch.backends.cudnn.benchmark = True" if on_gpu else "")
    return ""
