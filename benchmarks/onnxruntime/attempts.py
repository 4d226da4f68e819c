"""What ONNX Runtime was tried with on a GPU, and what came of it: the file of `peers`."""

import msgspec

from benanza_runner.onnxruntime.session import Provider
from benanza_schemas.layer import Precision

CUDA = "CUDAExecutionProvider"


class OrtConfiguration(msgspec.Struct, frozen=True):
    """Those options of the CUDA provider for which no one value is best for every model."""

    nhwc: bool
    graph: bool
    fused_bias: bool = False

    def provider(self, precision: Precision) -> Provider:
        """The provider with all its options."""
        options = {
            "cudnn_conv_algo_search": "EXHAUSTIVE",
            "cudnn_conv_use_max_workspace": "1",
            "use_tf32": "1" if precision == "tf32" else "0",
            "prefer_nhwc": "1" if self.nhwc else "0",
            "enable_cuda_graph": "1" if self.graph else "0",
            "fuse_conv_bias": "1" if self.fused_bias else "0",
        }
        return Provider(CUDA, "cuda", options)

    def title(self) -> str:
        """For people: `NHWC, CUDA graph`."""
        graph = ", CUDA graph" if self.graph else ""
        return f"{'NHWC' if self.nhwc else 'NCHW'}{graph}{', fused bias' * self.fused_bias}"


GRAPHS, SINGLE_STARTS = (
    tuple(OrtConfiguration(nhwc, graph) for nhwc in (False, True)) for graph in (True, False)
)
"""Each model as a CUDA graph; if that fails, with each kernel started by itself."""


class OrtAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one configuration: how long a call takes from its start to its end, as the host
    sees it, or why there is no time.

    `error` is ‖result − expected‖ / ‖expected‖, and `on_cpu` names operators that the
    provider left to the CPU.
    """

    configuration: OrtConfiguration
    median_us: float | None = None
    iqr_us: float | None = None
    samples: int = 0
    error: float | None = None
    on_cpu: tuple[str, ...] = ()
    failure: str = ""


class OrtResult(msgspec.Struct, frozen=True):
    """A model at a precision and a batch size. `failure` says why nothing could be tried."""

    model: str
    precision: Precision
    batch: int
    attempts: tuple[OrtAttempt, ...] = ()
    failure: str = ""

    def key(self) -> tuple[str, Precision, int]:
        """What tells the result from others."""
        return self.model, self.precision, self.batch

    def best(self) -> OrtAttempt | None:
        """The fastest configuration, if any gave the right result."""
        right = [attempt for attempt in self.attempts if not attempt.failure]
        return min(right, key=_median_us, default=None)

    def line(self) -> str:
        """The result for people, in one line; failures with their reasons."""
        begin = f"{self.model:<14}{self.precision:<6}batch {self.batch:<5}"
        best = self.best()
        if best is None:
            reasons = dict.fromkeys(attempt.failure for attempt in self.attempts)
            return f"{begin}failed: {self.failure or '; '.join(reasons)}"
        beside = f"; on the CPU: {', '.join(best.on_cpu)}" if best.on_cpu else ""
        return (
            f"{begin}{best.configuration.title():<30}{best.median_us:>10.1f} µs, "
            f"IQR {best.iqr_us:.1f}, error {best.error:.1g}{beside}"
        )


class Peers(msgspec.Struct):
    """The file. `tiny` are calls of a model with one tiny kernel: they show the host's share of
    each call.
    """

    system: dict[str, str] = {}
    tiny: list[OrtAttempt] = []
    results: list[OrtResult] = []

    def holds(self, model: str, precision: Precision, batch: int) -> bool:
        """Whether this was timed. What failed is tried again."""
        wanted = (model, precision, batch)
        return any(result.key() == wanted and result.best() for result in self.results)

    def add(self, result: OrtResult) -> None:
        """Adds a result, in the place of an earlier one with the same key."""
        self.results = [other for other in self.results if other.key() != result.key()]
        self.results.append(result)


def _median_us(attempt: OrtAttempt) -> float:
    return attempt.median_us or 0.0
