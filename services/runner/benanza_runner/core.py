"""Jobs to measurements."""

from collections.abc import Callable, Iterable
from datetime import datetime

from msgspec.structs import replace

from benanza_runner.ceilings import MICROBENCHMARKS
from benanza_runner.runtime import Runtime
from benanza_runner.variants import event_variant
from benanza_schemas.events import (
    BenchmarkRequested,
    LayerMeasured,
    SystemMeasured,
    event_id,
)
from benanza_schemas.layer import Layer, Precision

ON_TENSOR_CORES = frozenset(
    "Attention Conv ConvTranspose DeformConv Einsum GRU Gemm LSTM MatMul RNN".split()
)
"""The operators on floats that multiply matrices: TF32 is a way in which Tensor Cores do that."""


def description_id(system_id: str) -> str:
    """The id of the event that describes a system.

    It stays the same as long as the system's ceilings are measured in the same way.
    """
    return event_id("SystemMeasured", system_id, MICROBENCHMARKS)


def is_same_in_tf32(layer: Layer) -> bool:
    """Whether a layer does the same in float32 and in TF32, since it multiplies no matrices."""
    return not any(each.domain or each.op_type in ON_TENSOR_CORES for each in layer.operators)


class Runner:
    """Measures each job's layer at each precision on one system. What an accelerator does in the
    same way in float32 and in TF32 is measured once for both.

    The same job gives events with the same ids again. `now` returns the time, in UTC, that an
    event bears.
    """

    def __init__(
        self, runtime: Runtime, precisions: Iterable[Precision], now: Callable[[], datetime]
    ) -> None:
        self._runtime = runtime
        self._precisions = tuple(precisions)
        self._now = now
        self.system = runtime.system()

    def describe(self) -> SystemMeasured:
        """The system and its ceilings at each precision, which are measured now."""
        ceilings = [c for precision in self._precisions for c in self._runtime.ceilings(precision)]
        return SystemMeasured(
            event_id=description_id(self.system.system_id),
            system=self.system,
            measured_at=self._now(),
            ceilings=tuple(ceilings),
            cache_bytes=self._runtime.cache_bytes(),
        )

    def expect(self, jobs: Iterable[BenchmarkRequested]) -> None:
        """Says which jobs come next, so that work on them can begin."""
        self._runtime.expect(
            (job.layer, precision)
            for job in jobs
            for precision in self._precisions
            if not self._is_shared(job.layer, precision)
        )

    def handle(self, job: BenchmarkRequested) -> list[LayerMeasured]:
        """One event for each precision; a failure is an event too."""
        found = {
            precision: self._measured(job, precision)
            for precision in self._precisions
            if not self._is_shared(job.layer, precision)
        }
        return [
            found[precision] if precision in found else self.in_tf32(job, found["fp32"])
            for precision in self._precisions
        ]

    def in_tf32(self, job: BenchmarkRequested, event: LayerMeasured) -> LayerMeasured:
        """A job's measurement in float32, as the one in TF32."""
        return replace(event, event_id=self._event_id(job, "tf32"), precision="tf32")

    def _is_shared(self, layer: Layer, precision: Precision) -> bool:
        """Whether a measurement in float32 counts at this precision, too."""
        both = precision == "tf32" and "fp32" in self._precisions
        return both and bool(self.system.accelerator) and is_same_in_tf32(layer)

    def _event_id(self, job: BenchmarkRequested, precision: Precision) -> str:
        return event_id("LayerMeasured", job.event_id, self.system.system_id, precision)

    def _measured(self, job: BenchmarkRequested, precision: Precision) -> LayerMeasured:
        outcome = self._runtime.measure(job.layer, precision)
        return LayerMeasured(
            event_id=self._event_id(job, precision),
            fingerprint=job.fingerprint,
            system=self.system,
            precision=precision,
            measured_at=self._now(),
            variants=tuple(map(event_variant, outcome.variants)),
            environment=outcome.environment,
            failure=outcome.failure,
        )
