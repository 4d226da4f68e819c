"""Jobs to measurements."""

from collections.abc import Callable, Iterable
from datetime import datetime

from msgspec.structs import replace

from benanza_runner.ceilings import MICROBENCHMARKS
from benanza_runner.runtime import Runtime
from benanza_schemas.events import (
    BenchmarkRequested,
    LayerMeasured,
    SystemMeasured,
    event_id,
)
from benanza_schemas.layer import Precision

ON_TENSOR_CORES = frozenset(
    "Attention Conv ConvTranspose DeformConv Einsum GRU Gemm LSTM MatMul RNN".split()
)
"""The operators on floats that multiply matrices: TF32 is a way in which Tensor Cores do that."""


def description_id(system_id: str) -> str:
    """The id of the event that describes a system.

    It stays the same as long as the system's ceilings are measured in the same way.
    """
    return event_id("SystemMeasured", system_id, MICROBENCHMARKS)


def in_tf32(job: BenchmarkRequested, in_fp32: LayerMeasured) -> LayerMeasured | None:
    """A job's result in TF32 that follows from its result in float32 on the same system: the same,
    if the layer multiplies no matrices. None if it has to be measured, as on all that has no Tensor
    Cores, for which TF32 is no precision.
    """
    products = any(
        operator.domain or operator.op_type in ON_TENSOR_CORES for operator in job.layer.operators
    )
    if products or not in_fp32.system.accelerator:
        return None
    identity = event_id("LayerMeasured", job.event_id, in_fp32.system.system_id, "tf32")
    return replace(in_fp32, event_id=identity, precision="tf32")


class Runner:
    """Measures each job's layer at each precision on one system.

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
            (job.layer, precision) for job in jobs for precision in self._precisions
        )

    def handle(self, job: BenchmarkRequested) -> list[LayerMeasured]:
        """One event for each precision; a failure is an event too."""
        return [self._measured(job, precision) for precision in self._precisions]

    def _measured(self, job: BenchmarkRequested, precision: Precision) -> LayerMeasured:
        outcome = self._runtime.measure(job.layer, precision)
        return LayerMeasured(
            event_id=event_id("LayerMeasured", job.event_id, self.system.system_id, precision),
            fingerprint=job.fingerprint,
            system=self.system,
            precision=precision,
            measured_at=self._now(),
            variants=outcome.variants,
            environment=outcome.environment,
            failure=outcome.failure,
        )
