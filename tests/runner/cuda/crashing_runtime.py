"""The GPU runtime with variants that misbehave. Imported in a worker process, on a GPU only."""

import time
from collections.abc import Iterator

import cupy

from benanza_runner.cuda.calls import Elementwise
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.candidate_source import CandidateSource
from benanza_runner.cuda.runtime import CudaRuntime
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

LATER = 20

ILLEGAL = cupy.RawKernel('extern "C" __global__ void illegal(int* p) { *p = 1; }', "illegal")


ILLEGAL_LATER = cupy.RawKernel(
    f"""
extern "C" __global__ void later(int* runs, int* p) {{ if (++*runs > {LATER}) *p = 1; }}
""",
    "later",
)


class Saboteur:
    """One variant writes where it must not, one does so when it has run often, one never ends, and
    one leaves a wrong result.
    """

    library = "saboteur"

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        if not isinstance(workspace.call, Elementwise):
            return
        result = workspace.result(workspace.call.output)
        given = workspace.operand("in0").array
        runs = cupy.zeros(1, cupy.int32)

        def later() -> None:
            if workspace.precision == "fp32":
                cupy.maximum(given, 0, out=result.array)
                ILLEGAL_LATER((1,), (1,), (runs, cupy.uint64(16)))

        for name, run in (
            ("illegal access", lambda: ILLEGAL((1,), (1,), (cupy.uint64(16),))),
            ("illegal access in the end", later),
            ("endless", lambda: time.sleep(1_000)),
            ("wrong", lambda: result.array.fill(1)),
        ):
            yield Candidate("saboteur", name, "", no_scratch, run, result)


class CrashingRuntime(CudaRuntime):
    """Asks the saboteur first."""

    def candidate_sources(self) -> tuple[CandidateSource, ...]:
        return (Saboteur(), *super().candidate_sources())
