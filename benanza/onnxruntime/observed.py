"""A loaded model that ONNX Runtime profiles while it answers requests."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack

from onnx import GraphProto

from benanza.onnxruntime.profiled import ProfiledSession, Traced, joined
from benanza.onnxruntime.session import run_on_host
from benanza.profiling.framework import Observed, ObservedRun
from benanza.profiling.spans import Activity
from benanza.profiling.whole_model import Arrays, WholeModel
from benanza_runner.arrays import Array

MOST_BYTES = 100_000_000
"""Of a profile, which takes some ten times as much to read. Bodies of loops write some for each
iteration, so that no graph says how much there will be.
"""


class ObservedSession(Observed):
    """`typed` is the model as it runs, `layers` are those of its file; `recording` ends with
    `runs`.
    """

    def __init__(
        self,
        profiled: ProfiledSession,
        typed: WholeModel,
        layers: GraphProto,
        recording: ExitStack,
    ) -> None:
        self._profiled = profiled
        self._inputs = typed.inputs
        self._layers = layers
        self._run = run_on_host(profiled.called.session, typed)
        self._skipped = 0
        self._activities: list[Activity] | None = None
        self._recording = recording

    def first(self, calls: int) -> None:
        """Runs it so often, which doesn't count."""
        for _ in range(calls):
            self._run(self._inputs)
        self._skipped += calls

    def record(self, recording: AbstractContextManager[list[Activity]]) -> None:
        """Also takes what the GPU does from now on."""
        self._activities = self._recording.enter_context(recording)

    def run(self, inputs: Arrays) -> Sequence[Array]:
        return self._run(inputs)

    def runs(self) -> list[ObservedRun]:
        self._recording.close()
        traced = self._profiled.ended(
            self._layers, self._skipped, self._activities, most_bytes=MOST_BYTES
        )
        return [
            ObservedRun(
                execution.start_us,
                execution.us,
                joined(Traced(traced.found._replace(executions=[execution]), traced.positions)),
            )
            for execution in traced.found.executions
        ]
