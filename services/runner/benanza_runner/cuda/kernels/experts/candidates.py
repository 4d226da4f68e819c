"""Mixtures of experts as generated kernels."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import MixtureOfExperts
from benanza_runner.cuda.candidate import Candidate, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.experts.plans import ExpertPlan, plans
from benanza_runner.cuda.kernels.experts.steps import scratch
from benanza_runner.cuda.kernels.launching import LIBRARY
from benanza_runner.cuda.workspace import MAX_SCRATCH_BYTES, Workspace
from benanza_schemas.events import Variant

MOST_TILES = 65_535
"""How many the second axis of a grid may have."""


class ExpertKernels:
    """Candidates for mixtures of experts."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each plan."""
        call = workspace.call
        if not isinstance(call, MixtureOfExperts):
            return
        if scratch(call, workspace.precision)[1] > MAX_SCRATCH_BYTES:
            yield refused(LIBRARY, "expert kernels", "", "its rows take too much memory")
            return
        result = workspace.result(call.output)
        for plan in plans(workspace, call, result):
            if any(step.grid[1] > MOST_TILES for step in plan.steps):
                yield refused(LIBRARY, plan.name, "", "it has too many rows for one grid")
            else:
                yield _candidate(workspace, call, result, plan)


def _candidate(
    workspace: Workspace, call: MixtureOfExperts, result: DeviceTensor, plan: ExpertPlan
) -> Candidate:
    starts, size = scratch(call, workspace.precision)
    kernels = [_kernel(step.source, step.name) for step in plan.steps]
    memory = 0

    def prepare() -> int:
        nonlocal memory
        memory = workspace.scratch(size)
        for kernel, step in zip(kernels, plan.steps, strict=True):
            if step.shared:
                kernel.max_dynamic_shared_size_bytes = step.shared
        return size

    def run() -> None:
        addresses = {part: np.uint64(memory + start) for part, start in starts.items()}
        for kernel, step in zip(kernels, plan.steps, strict=True):
            given = step.arguments(addresses)
            kernel(step.grid, (step.threads,), given, shared_mem=step.shared)

    return Candidate(LIBRARY, plan.name, "", prepare, run, result)


@cache
def _kernel(source: str, name: str) -> Any:
    return cupy.RawKernel(source, name)
