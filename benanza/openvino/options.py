"""What can be set in OpenVINO, and what that is good for. It needs no OpenVINO."""

from benanza.profiling.framework import Configuration
from benanza.profiling.remedies import Better, Remedies, Remedy
from benanza_analyzer.answers.kinds import InefficiencyKind

LATENCY = Configuration("latency hint", {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1"})
"""One request at a time, which has all threads: what OpenVINO does on a CPU if nothing is set.
https://docs.openvino.ai/2026/openvino-workflow/running-inference/optimize-inference/high-level-performance-hints.html
"""

_REMEDIES: dict[InefficiencyKind, str] = {
    "between calls": "each node costs time beside its kernel: larger batches have it less often",
    "conversions and copies": "give images channels last (openvino.preprocess, set_layout), and "
    "keep one layout and type when exporting",
    "no call needed": "leave these layers out when exporting: they compute nothing",
    "more calls": "no option joins these: export them as one operator of ONNX, or register a "
    "custom operation: core.add_extension(...)",
}


class OpenVinoRemedies(Remedies):
    """What OpenVINO has."""

    def remedy(
        self, kind: InefficiencyKind, op: str, configuration: str, *, on_gpu: bool
    ) -> Remedy | None:
        """What to change in the model or in the application: no option helps."""
        do = _REMEDIES.get(kind, "")
        return Remedy(do) if do else None

    def better(self, configuration: str, *, on_gpu: bool) -> Better | None:
        """Nothing is faster at the model's own precision."""
        return None
