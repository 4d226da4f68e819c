"""What can be set in ONNX Runtime, and what that is good for."""

from collections.abc import Mapping, Sequence

from benanza.profiling.framework import Configuration
from benanza.profiling.remedies import Better, Remedies, Remedy
from benanza_analyzer.answers.kinds import InefficiencyKind

LEVEL = "graph_optimization_level"
BOUND = {"io_binding": "cuda"}
NHWC = {"prefer_nhwc": "1"}
CAPTURED = {"enable_cuda_graph": "1"}
FUSED_BIAS = {"fuse_conv_bias": "1"}

_ALL = {LEVEL: "ORT_ENABLE_ALL"}
_NONE = {LEVEL: "ORT_DISABLE_ALL"}

ON_CPU = (
    Configuration("default options", _ALL),
    Configuration("extended optimisations", {LEVEL: "ORT_ENABLE_EXTENDED"}),
    Configuration("basic optimisations", {LEVEL: "ORT_ENABLE_BASIC"}),
    Configuration("no optimisations", _NONE),
)
"""The levels of https://onnxruntime.ai/docs/performance/model-optimizations/graph-optimizations.html"""

ON_GPU = (
    Configuration("default options", _ALL),
    Configuration("no optimisations", _NONE),
    Configuration("bound to the GPU", _ALL | BOUND),
    Configuration("bound to the GPU, channels last", _ALL | BOUND | NHWC),
    Configuration("CUDA graph", _ALL | BOUND | CAPTURED),
    Configuration("CUDA graph, channels last", _ALL | BOUND | NHWC | CAPTURED),
    Configuration(
        "CUDA graph, channels last, fused bias", _ALL | BOUND | NHWC | CAPTURED | FUSED_BIAS
    ),
)
"""Options of https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"""

_OF_INPUTS_AND_OUTPUTS = ("Memcpy HtoD", "Memcpy DtoH")

_BIND = (
    "bind inputs and outputs to memory of the GPU: binding = session.io_binding(); "
    "session.run_with_iobinding(binding)"
)
_CAPTURE = "bind inputs and outputs to memory of the GPU, and set enable_cuda_graph = 1"
_CHANNELS_LAST = "set prefer_nhwc = 1"

_SHARING = "GroupQueryAttention"
_SHARE = (
    "bind each past and its present to one buffer of the greatest length: "
    "binding.bind_ortvalue_input(PAST, buffer); binding.bind_ortvalue_output(PRESENT, buffer); "
    "with ONNX Runtime GenAI set past_present_share_buffer = true below search in genai_config.json"
)
"""https://onnxruntime.ai/docs/genai/reference/config.html; the operator sees that both are one."""

_EXPORT_SHARING = (
    f"export the model with {_SHARING}, as ONNX Runtime GenAI's model builder does, and {_SHARE}"
)

_DEFAULT = ON_CPU[0]
_OPTIMISED: tuple[InefficiencyKind, ...] = ("more calls", "slower call", "no call needed")
_FEWER = frozenset(configuration.name for configuration in ON_CPU[1:])
_CAPTURED_ALONE = {
    "bound to the GPU": "CUDA graph",
    "bound to the GPU, channels last": "CUDA graph, channels last",
}

_CPU_REMEDIES: dict[InefficiencyKind, str] = {
    "between calls": "each node costs time beside its kernel: larger batches have it less often",
    "conversions and copies": "an operator between convolutions has no kernel in blocks of "
    "channels, or too few channels: replace it, or move it in front of or behind all convolutions",
}
_REMEDIES: dict[InefficiencyKind, str] = {
    "synchronisation": "the next operator has no kernel for the GPU: replace it when exporting, or "
    "move it to the start or the end of the model",
    "no call needed": "leave these layers out when exporting: they compute nothing",
    "more calls": "no option joins these: export them as one operator of ONNX or of the domain "
    "com.microsoft, or register a custom operator",
}


def configurations(*, on_gpu: bool) -> tuple[Configuration, ...]:
    """On the CPU the levels of optimisation. On a GPU also whether inputs and outputs are there,
    the layout of feature maps, and whether the run is captured as a CUDA graph.
    """
    return ON_GPU if on_gpu else ON_CPU


def provider_options(options: Mapping[str, str]) -> dict[str, str]:
    """Those options of a configuration that the CUDA provider is given."""
    return {name: value for name, value in options.items() if name not in (LEVEL, *BOUND)}


class OnnxRuntimeRemedies(Remedies):
    """What ONNX Runtime has."""

    def remedy(
        self, kind: InefficiencyKind, op: str, configuration: str, *, on_gpu: bool
    ) -> Remedy | None:
        """What to set, or what to change in the model where no option helps."""
        if kind in _OPTIMISED and configuration in _FEWER:
            return Remedy(f"set {_DEFAULT.name}")
        if on_gpu and (on_device := _on_gpu(kind, op, configuration)):
            return on_device
        do = _REMEDIES.get(kind, "") if on_gpu else (_REMEDIES | _CPU_REMEDIES).get(kind, "")
        return Remedy(do) if do else None

    def better(self, configuration: str, *, on_gpu: bool) -> Better | None:
        """The default in place of fewer optimisations; on a GPU a run as a CUDA graph in place of
        the default. From what is bound to the GPU, a remedy leads there.
        """
        if configuration in _FEWER:
            return Better(_DEFAULT, "as the bound", between_calls=True)
        if not on_gpu or configuration != _DEFAULT.name:
            return None
        captured = next(known for known in ON_GPU if known.name == "CUDA graph")
        return Better(captured, "nothing", between_calls=False)

    def states_in_place(self, ops: Sequence[str]) -> Remedy:
        """A buffer for each. No configuration has one: each present is a tensor of its own."""
        return Remedy(_SHARE if set(ops) == {_SHARING} else _EXPORT_SHARING)

    def same_calls(self, configuration: str) -> str:
        """What is captured makes the calls of what is bound to the GPU."""
        alone = {captured: bound for bound, captured in _CAPTURED_ALONE.items()}
        return alone.get(configuration, "")


def _on_gpu(kind: InefficiencyKind, op: str, configuration: str) -> Remedy | None:
    captured = configuration.startswith("CUDA graph")
    bound = captured or configuration.startswith("bound")
    copies = kind in ("conversions and copies", "synchronisation")
    if copies and op in _OF_INPUTS_AND_OUTPUTS and not bound:
        return Remedy(_BIND, "bound to the GPU" if configuration == _DEFAULT.name else "")
    if kind == "between calls" and not captured:
        return Remedy(_CAPTURE, _CAPTURED_ALONE.get(configuration, ""))
    if kind in ("slower call", "more calls") and "Conv" in op and "last" not in configuration:
        return Remedy(_CHANNELS_LAST)
    return None
