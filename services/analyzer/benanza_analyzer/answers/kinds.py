"""What makes a framework's run longer than the bound."""

from typing import Literal

from benanza_backbone.document import Document

InefficiencyKind = Literal[
    "timing each call",
    "between calls",
    "synchronisation",
    "conversions and copies",
    "unmatched",
    "no call needed",
    "more calls",
    "slower call",
    "not slower",
]
"""What it costs to look; the time that passes between calls; what more of it passes after calls
that copy to the host, which waits for the GPU before it starts the next one; calls of `CONVERSIONS`
that compute no layer; other calls that compute none, as of constants alone; layers that the bound
needs no call for; layers that the bound covers with fewer calls; with as many or more that are
faster; and those in which the framework isn't slower.
"""

CONVERSIONS = frozenset(
    "Cast Identity MemcpyFromHost MemcpyToHost ReorderInput ReorderOutput Reshape Squeeze "
    "Transpose Unsqueeze "
    "Convert Reorder "
    "aten._to_copy aten.clone aten.contiguous aten.copy aten.permute aten.to".split()
)
"""What ONNX Runtime, OpenVINO and PyTorch put around operators to give values other types or
layouts.
"""


class Inefficiency(Document, frozen=True):
    """A part of a framework's run beside the same part of the bound, in microseconds.

    `calls` are the framework's, by position among them, `positions` those of the layers that they
    compute, `bound_calls` the number of calls in the bound that take time there. `spread_us`, that
    of the difference, is the root of the sum of the squares of all their interquartile ranges.
    """

    kind: InefficiencyKind
    positions: tuple[int, ...]
    calls: tuple[int, ...]
    bound_calls: int
    us: float
    bound_us: float
    spread_us: float

    @property
    def saved_us(self) -> float:
        """How much less the bound takes; negative if it takes more."""
        return self.us - self.bound_us
