"""The kernels that run a mixture of experts, one after another, and the memory between them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benanza_runner.cuda.calls import ExpertMatrices, MixtureOfExperts
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.experts.matrices_source import tiles
from benanza_runner.cuda.kernels.experts.routing_source import (
    MOST_ROUTED_AT_ONCE,
    ROUTING_THREADS,
    combining_source,
    routing_source,
)
from benanza_runner.cuda.kernels.experts.rows_source import ROWS_THREADS, rows_source
from benanza_runner.cuda.kernels.experts.tiles_source import ExpertTiling, tiles_source
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

ALIGNMENT = 256
WARP = 32
COMBINED = 8
"""Elements of the result that a thread adds up."""

Addresses = dict[str, np.uint64]


class ExpertStep(NamedTuple):
    """A source, the name of its kernel, the grid, the threads of a block, what the kernel is given
    where memory has these addresses, and its dynamic shared memory in bytes.
    """

    source: str
    name: str
    grid: tuple[int, int]
    threads: int
    arguments: Callable[[Addresses], tuple[Any, ...]]
    shared: int = 0


def scratch(call: MixtureOfExperts, precision: Precision) -> tuple[dict[str, int], int]:
    """Where what is between the kernels begins, in bytes, and how many bytes all of it has.

    `inner` is the activated first product of each route, and `parts` what its expert makes of it.
    """
    element = PRECISIONS[precision].bytes
    sizes = {
        "chosen": 4 * call.routes,
        "shares": 4 * call.routes,
        "offsets": 4 * (call.experts + 1),
        "order": 4 * call.routes,
        "inner": element * call.routes * call.down.k,
        "parts": element * call.routes * call.down.n,
    }
    starts, at = {}, 0
    for name, size in sizes.items():
        starts[name] = at
        at += -(-size // ALIGNMENT) * ALIGNMENT
    return starts, at


def choosing(workspace: Workspace, call: MixtureOfExperts) -> ExpertStep:
    """The experts of each row and their shares."""
    logits, rows = workspace.operand("router").array, np.int32(call.rows)
    blocks = -(-call.rows * WARP // ROUTING_THREADS)
    return ExpertStep(
        routing_source(workspace.precision, call),
        "choose",
        (blocks, 1),
        ROUTING_THREADS,
        lambda at: (logits, at["chosen"], at["shares"], rows),
    )


def routing(workspace: Workspace, call: MixtureOfExperts) -> list[ExpertStep]:
    """The same, and routes in the order of experts: at once for few rows."""
    rows, grid = np.int32(call.rows), (call.experts, 1)
    source = routing_source(workspace.precision, call)
    if call.rows <= MOST_ROUTED_AT_ONCE:
        logits = workspace.operand("router").array

        def at_once(at: Addresses) -> tuple[Any, ...]:
            return logits, at["shares"], at["offsets"], at["order"], rows

        return [ExpertStep(source, "route", grid, ROUTING_THREADS, at_once)]

    def arranging(at: Addresses) -> tuple[Any, ...]:
        return at["chosen"], at["offsets"], at["order"], rows

    arranged = ExpertStep(source, "arrange", grid, ROUTING_THREADS, arranging)
    return [choosing(workspace, call), arranged]


def row_products(
    workspace: Workspace, call: MixtureOfExperts, result: DeviceTensor, rows: int, columns: int
) -> list[ExpertStep]:
    """Both products, for tiles of so many rows; with none, the second one writes the result."""

    def step(*, down: bool) -> ExpertStep:
        matrices = call.down if down else call.up
        source = rows_source(workspace.precision, call, down=down, rows=rows, columns=columns)
        single = call.rows if down else call.routes
        grid = (
            -(-matrices.n * WARP // (columns * ROWS_THREADS)),
            tiles(call.routes, call.experts, rows) if rows else single,
        )
        weights = _operands(workspace, matrices, "down" if down else "up")
        x = None if down else workspace.operand("input").array
        places = "offsets" if rows else "chosen"

        def arguments(at: Addresses) -> tuple[Any, ...]:
            written = at["inner"] if not down else at["parts"] if rows else result.array
            read = at["inner"] if down else x
            return (read, *weights, at[places], at["order"], at["shares"], written)

        return ExpertStep(source, "expert_rows", grid, ROWS_THREADS, arguments)

    return [step(down=False), step(down=True)]


def tile_products(
    workspace: Workspace, call: MixtureOfExperts, tiling: ExpertTiling
) -> list[ExpertStep]:
    """Both products on Tensor Cores."""

    def step(*, down: bool) -> ExpertStep:
        matrices = call.down if down else call.up
        source = tiles_source(workspace.precision, call, tiling, down=down)
        grid = -(-matrices.n // tiling.columns), tiles(call.routes, call.experts, tiling.rows)
        weights = _operands(workspace, matrices, "down" if down else "up")
        x = None if down else workspace.operand("input").array

        def arguments(at: Addresses) -> tuple[Any, ...]:
            read, written = (at["inner"], at["parts"]) if down else (x, at["inner"])
            return (read, *weights, at["offsets"], at["order"], written)

        shared = tiling.shared_bytes(matrices.bits)
        return ExpertStep(source, "expert_tiles", grid, tiling.threads, arguments, shared)

    return [step(down=False), step(down=True)]


def combining(workspace: Workspace, call: MixtureOfExperts, result: DeviceTensor) -> ExpertStep:
    """What the experts of each row made of it, added up by their shares."""
    blocks = -(-call.rows * call.down.n // (COMBINED * ROUTING_THREADS))
    return ExpertStep(
        combining_source(workspace.precision, call),
        "combine",
        (blocks, 1),
        ROUTING_THREADS,
        lambda at: (at["parts"], at["shares"], result.array, np.int32(call.rows)),
    )


def _operands(workspace: Workspace, matrices: ExpertMatrices, name: str) -> tuple[Any, ...]:
    """The weights, their scales, zero points and biases. The weights fill the places of those that
    aren't there.
    """
    there = {"scales": matrices.bits > 0, "zeros": matrices.zeros, "bias": matrices.bias}
    names = [name, *(f"{name}_{part}" if has else name for part, has in there.items())]
    return tuple([workspace.operand(each).array for each in names])
