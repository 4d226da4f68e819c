"""The ways of running a mixture of experts, as steps.

With few rows a mixture is bound by reading the weights of the chosen experts. With many, rows are
sorted by expert on the device, and each expert's are multiplied in tiles.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benanza_runner.cuda.calls import MixtureOfExperts
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.experts.steps import (
    ExpertStep,
    choosing,
    combining,
    routing,
    row_products,
    tile_products,
)
from benanza_runner.cuda.kernels.experts.tiles_source import ExpertTiling
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS

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

SIXTEEN_BITS = 2
"""Bytes of the floats that these Tensor Core kernels multiply."""


class ExpertPlan(NamedTuple):
    """A name, and the kernels that are started one after another."""

    name: str
    steps: list[ExpertStep]


def plans(
    workspace: Workspace, call: MixtureOfExperts, result: DeviceTensor
) -> Iterator[ExpertPlan]:
    """For few rows, by the columns of a warp and the rows of a tile; then by tiling."""
    on_tensor_cores = PRECISIONS[workspace.precision].bytes == SIXTEEN_BITS
    if call.rows <= MOST_BY_ROW:
        for columns in COLUMNS:
            products = row_products(workspace, call, result, 0, columns)
            steps = [choosing(workspace, call), *products]
            yield ExpertPlan(f"expert kernels (by row, {columns} columns a warp)", steps)

    def by_expert(products: list[ExpertStep]) -> list[ExpertStep]:
        return [*routing(workspace, call), *products, combining(workspace, call, result)]

    if call.rows > 1 and (call.rows <= MOST_FEW or not on_tensor_cores):
        for rows in near(ROWS, call):
            for columns in COLUMNS:
                products = row_products(workspace, call, result, rows, columns)
                name = f"expert kernels ({rows} rows a tile, {columns} columns a warp)"
                yield ExpertPlan(name, by_expert(products))
    if call.rows > 1 and on_tensor_cores:
        by_rows = {tiling.rows: tiling for tiling in TILINGS}
        for rows in near(tuple(by_rows), call):
            products = tile_products(workspace, call, by_rows[rows])
            yield ExpertPlan(
                f"expert tensor core kernels ({rows} rows a tile)", by_expert(products)
            )


def near(sizes: Sequence[int], call: MixtureOfExperts) -> list[int]:
    """The largest three rows of a tile that are not more than four times what an expert has on
    average; the least one counts anyway.
    """
    average = max(1.0, call.routes / call.experts)
    return [size for size in sizes if size <= 4 * average or size == sizes[0]][-3:]
