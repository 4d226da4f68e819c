"""What can be set in ONNX Runtime, and what that is good for."""

from benanza.profiling.framework import Configuration
from benanza.profiling.remedies import Better, Remedies, Remedy
from benanza_analyzer.answers.kinds import InefficiencyKind

LEVEL = "graph_optimization_level"

CONFIGURATIONS = (
    Configuration("default options", {LEVEL: "ORT_ENABLE_ALL"}),
    Configuration("extended optimisations", {LEVEL: "ORT_ENABLE_EXTENDED"}),
    Configuration("basic optimisations", {LEVEL: "ORT_ENABLE_BASIC"}),
    Configuration("no optimisations", {LEVEL: "ORT_DISABLE_ALL"}),
)
"""The levels of https://onnxruntime.ai/docs/performance/model-optimizations/graph-optimizations.html"""

_REMEDIES: dict[InefficiencyKind, str] = {
    "between calls": "each node costs time beside its kernel: larger batches have it less often",
    "conversions and copies": "an operator between convolutions has no kernel in blocks of "
    "channels, or too few channels: replace it, or move it in front of or behind all convolutions",
    "no call needed": "leave these layers out when exporting: they compute nothing",
    "more calls": "no option joins these: export them as one operator of ONNX or of the domain "
    "com.microsoft, or register a custom operator",
}


class OnnxRuntimeRemedies(Remedies):
    """What ONNX Runtime has for the CPU."""

    def remedy(
        self, kind: InefficiencyKind, op: str, configuration: str, *, on_gpu: bool
    ) -> Remedy | None:
        """What to change in the model. Options help only where `better` has some."""
        better = self.better(configuration, on_gpu=on_gpu)
        if better and kind in ("more calls", "slower call", "no call needed"):
            return Remedy(f"set {better.configuration.name}")
        do = _REMEDIES.get(kind)
        return Remedy(do) if do else None

    def better(self, configuration: str, *, on_gpu: bool) -> Better | None:
        """The default, in place of fewer optimisations."""
        default = CONFIGURATIONS[0]
        return None if configuration == default.name else Better(default, between_calls=True)
