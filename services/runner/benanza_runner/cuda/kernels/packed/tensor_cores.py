"""Products of some dozens of rows with packed weights, as a kernel on Tensor Cores.

Weights are still read once and packed, and Tensor Cores multiply them with all rows. Source:
"MARLIN: mixed-precision auto-regressive parallel inference on large language models" (Frantar et
al., 2024), by which this stays bound by the weights up to some dozens of rows.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import PackedProduct
from benanza_runner.cuda.candidate import Candidate
from benanza_runner.cuda.kernels.launching import LIBRARY
from benanza_runner.cuda.kernels.packed.weights import fits, packed_operands, packing
from benanza_runner.cuda.kernels.source.packed_tensor_cores import GROUP, Tiling, chunk, source
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

LEAST_ROWS = 2
MOST_ROWS = 64

SHAPES = ((2, 1, 8), (2, 2, 4), (2, 4, 2), (4, 2, 4))
"""Tiles of a warp, and a block's warps across the columns and along the sums."""

RESIDENT = (1, 2)
"""How many blocks a multiprocessor has room for. Sums are split until there are as many."""

MOST_TILES = 16
"""Tiles of a warp times groups of rows: their sums are in registers."""

STAGES = range(2, 5)
"""How many a block may have: those that fit."""

RESERVED_BYTES = 2_048
"""What a block can't have of its share of a multiprocessor's memory."""


class PackedOnTensorCores:
    """Candidates for products of several rows with packed weights in fp16 and bf16."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each shape of a block, for one and for two blocks on a multiprocessor."""
        call = workspace.call
        if not isinstance(call, PackedProduct) or not LEAST_ROWS <= call.m <= MOST_ROWS:
            return
        # Rows of elements are read by eight.
        if (
            not call.on_integers
            or PRECISIONS[workspace.precision].bytes != 2
            or call.k % 8
            or not fits(call)
        ):
            return
        yield from (_candidate(workspace, call, *each) for each in dict.fromkeys(_tilings(call)))


def _tilings(call: PackedProduct) -> Iterator[tuple[Tiling, int]]:
    """What blocks have, and how many of a thread's chunks follow each other."""
    device = cupy.cuda.Device().attributes
    groups, chunks = -(-call.m // GROUP), _chunks(call)
    for tiles, across, along in SHAPES:
        for resident in RESIDENT:
            room = device["MaxSharedMemoryPerMultiprocessor"] // resident - RESERVED_BYTES
            tilings = [Tiling(groups, tiles, across, along, stages) for stages in STAGES]
            fitting = [each for each in tilings if each.shared_bytes(call.bits) <= room]
            if not fitting or tiles * groups > MOST_TILES:
                continue
            blocks = resident * device["MultiProcessorCount"] // -(-call.n // fitting[-1].columns)
            yield fitting[-1], -(-chunks // (along * max(blocks, 1)))


def _chunks(call: PackedProduct) -> int:
    return -(-call.blocks * call.block // chunk(call.bits))


def _candidate(workspace: Workspace, call: PackedProduct, tiling: Tiling, rounds: int) -> Candidate:
    wholes = -(-call.n // tiling.columns)
    splits = -(-_chunks(call) // (tiling.along * rounds))
    shared = tiling.shared_bytes(call.bits)
    result = workspace.result(call.output)
    operands = (
        workspace.operand("a").array,
        *packed_operands(workspace, call),
        workspace.operand("bias" if call.bias else "a").array,
    )
    kernel = _kernel(workspace.precision, call.k, packing(call), call.bias, tiling)
    arrived = cupy.zeros(wholes, cupy.uint32)
    numbers = tuple(map(np.int32, (call.m, call.n, splits, rounds)))
    scratch = 0

    def prepare() -> int:
        nonlocal scratch
        size = 4 * wholes * splits * call.m * tiling.columns if splits > 1 else 0
        scratch = workspace.scratch(size)
        kernel.max_dynamic_shared_size_bytes = shared
        return size

    def run() -> None:
        arguments = (*operands, result.array, np.uint64(scratch), arrived, *numbers)
        kernel((wholes * splits,), (tiling.threads,), arguments, shared_mem=shared)

    name = (
        f"packed tensor core kernel ({tiling.columns} columns a block, "
        f"{tiling.along} x {splits} parts, {tiling.stages} stages)"
    )
    return Candidate(LIBRARY, name, "", prepare, run, result)


@cache
def _kernel(
    precision: Precision, k: int, packing: WeightPacking, bias: bool, tiling: Tiling
) -> Any:
    return cupy.RawKernel(source(precision, k, packing, bias, tiling), "packed_tiles")
