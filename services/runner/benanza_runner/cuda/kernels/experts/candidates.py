"""Mixtures of experts as generated kernels: of few rows, and on Tensor Cores of many.

With few rows a mixture is bound by reading the weights of the chosen experts. With many, rows are
sorted by expert on the device, and each expert's are multiplied in tiles.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from benanza_runner.cuda.calls import MixtureOfExperts
from benanza_runner.cuda.candidate import Candidate, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.experts.steps import (
    Step,
    choosing,
    combining,
    routing,
    row_products,
    scratch,
    tile_products,
)
from benanza_runner.cuda.kernels.experts.tiles_source import ExpertTiling
from benanza_runner.cuda.kernels.launching import LIBRARY
from benanza_runner.cuda.workspace import MAX_SCRATCH_BYTES, Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant

COLUMNS = (2, 4)
"""How many columns a warp may have, where rows are few."""

ROWS = (1, 2, 4, 8)
"""How many rows a tile may have there."""

MOST_BY_ROW = 4
"""Rows for which each may read its experts by itself: they seldom share one."""

MOST_FEW = 16
"""With more rows, those on Tensor Cores are faster, where there are any."""

TILINGS = (
    ExpertTiling(1, 1, 8, 1, 4),
    ExpertTiling(2, 2, 4, 1, 4),
    ExpertTiling(2, 4, 4, 1, 4),
    ExpertTiling(4, 4, 2, 2, 4),
    ExpertTiling(4, 4, 2, 4, 3),
)
"""By their rows, 8 to 128; all have 128 columns."""

MOST_TILES = 65_535
"""How many the second axis of a grid may have."""


class ExpertKernels:
    """Candidates for mixtures of experts."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """For few rows, by the columns of a warp and the rows of a tile; then by tiling."""
        call = workspace.call
        if not isinstance(call, MixtureOfExperts):
            return
        if scratch(call, workspace.precision)[1] > MAX_SCRATCH_BYTES:
            yield refused(LIBRARY, "expert kernels", "", "its rows take too much memory")
            return
        result = workspace.result(call.output)
        on_tensor_cores = PRECISIONS[workspace.precision].bytes == 2  # noqa: PLR2004
        if call.rows <= MOST_BY_ROW:
            for columns in COLUMNS:
                products = row_products(workspace, call, result, 0, columns)
                steps = [choosing(workspace, call), *products]
                name = f"expert kernels (by row, {columns} columns a warp)"
                yield _candidate(workspace, call, result, name, steps)
        if call.rows > 1 and (call.rows <= MOST_FEW or not on_tensor_cores):
            for rows in _near(ROWS, call):
                for columns in COLUMNS:
                    products = row_products(workspace, call, result, rows, columns)
                    name = f"expert kernels ({rows} rows a tile, {columns} columns a warp)"
                    yield _sorted(workspace, call, result, name, products)
        if call.rows > 1 and on_tensor_cores:
            by_rows = {tiling.rows: tiling for tiling in TILINGS}
            for rows in _near(tuple(by_rows), call):
                products = tile_products(workspace, call, by_rows[rows])
                name = f"expert tensor core kernels ({rows} rows a tile)"
                yield _sorted(workspace, call, result, name, products)


def _near(sizes: Sequence[int], call: MixtureOfExperts) -> list[int]:
    """Those of the rows of a tile that come near to what an expert has on average: not more than
    four times it, and the largest three of these.
    """
    average = max(1.0, call.routes / call.experts)
    return [size for size in sizes if size <= 4 * average or size == sizes[0]][-3:]


def _sorted(
    workspace: Workspace,
    call: MixtureOfExperts,
    result: DeviceTensor,
    name: str,
    products: list[Step],
) -> Candidate | Variant:
    """With products in between of routes in the order of experts."""
    if any(step.grid[1] > MOST_TILES for step in products):
        return refused(LIBRARY, name, "", "it has too many rows for one grid")
    steps = [*routing(workspace, call), *products, combining(workspace, call, result)]
    return _candidate(workspace, call, result, name, steps)


def _candidate(
    workspace: Workspace,
    call: MixtureOfExperts,
    result: DeviceTensor,
    name: str,
    steps: list[Step],
) -> Candidate:
    starts, size = scratch(call, workspace.precision)
    memory = 0

    def prepare() -> int:
        nonlocal memory
        memory = workspace.scratch(size)
        for step in steps:
            if step.shared:
                step.kernel.max_dynamic_shared_size_bytes = step.shared
        return size

    def run() -> None:
        addresses = {part: np.uint64(memory + start) for part, start in starts.items()}
        for step in steps:
            given = step.arguments(addresses)
            step.kernel(step.grid, (step.threads,), given, shared_mem=step.shared)

    return Candidate(LIBRARY, name, "", prepare, run, result)
