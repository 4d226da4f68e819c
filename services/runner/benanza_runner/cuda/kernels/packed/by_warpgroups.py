"""Products of some dozens to some hundreds of rows with weights of few bits, by warpgroups.

Weights are read once and packed, and unpacked in registers for all rows of a block. Source of the
idea: "MARLIN: mixed-precision auto-regressive parallel inference on large language models" (Frantar
et al., 2024). That weights are the factor in registers, and rows the one in shared memory, follows
from `wgmma` of NVIDIA's PTX ISA.
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import PackedProduct
from benanza_runner.cuda.candidate import Candidate
from benanza_runner.cuda.kernels.launching import LIBRARY
from benanza_runner.cuda.kernels.packed.fragment_operands import fixed, fragment_operands
from benanza_runner.cuda.kernels.packed.fragments import weights_in_turn
from benanza_runner.cuda.kernels.packed.warpgroup_tiling import WarpgroupTiling, tilings_for
from benanza_runner.cuda.kernels.packed.warpgroups_source import source
from benanza_runner.cuda.kernels.packed.weights import packing
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

LEAST_ROWS = 9

MOST_ROWS = 512

LEAST_STAGES = 3

MOST_STAGES = 8

RESERVED_BYTES = 1_024
"""What a block can't have of its share of a multiprocessor's memory."""

OLDEST = 80

HOPPER = 90
"""The only architecture that has these products, and clusters."""


class PackedByWarpgroups:
    """Candidates for products of rows with packed weights in fp16 and bf16."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each tiling of a block, with and without clusters."""
        call = workspace.call
        if not isinstance(call, PackedProduct):
            return
        if not LEAST_ROWS <= call.m <= MOST_ROWS or not fixed(workspace, call):
            return
        # Rows of elements are read by eight, and a unit's weights lie in whole blocks, or in one.
        if PRECISIONS[workspace.precision].bytes != 2 or call.k % 8:
            return
        if call.block not in (16, 32) and call.block % 64:
            return
        weights = workspace.laid_out("b", partial(weights_in_turn, n=call.n, bits=call.bits), 1)
        operands = fragment_operands(workspace, call, weights.array)
        for tiling in tilings(call):
            yield _candidate(workspace, call, operands, tiling)


def tilings(call: PackedProduct) -> Iterator[WarpgroupTiling]:
    """Those that fit, each with the most stages, and with parts such that all blocks have room at
    once and fill most of it; or with one, where there are more blocks anyway.
    """
    device = cupy.cuda.Device()
    architecture = int(device.compute_capability)
    if architecture < OLDEST:
        return
    for base in tilings_for(call.m):
        share = device.attributes["MaxSharedMemoryPerMultiprocessor"] // base.resident
        staged = (base._replace(stages=stages) for stages in range(LEAST_STAGES, MOST_STAGES + 1))
        fitting = [
            each._replace(asynchronous=architecture == HOPPER)
            for each in staged
            if each.shared_bytes(call.m, packing(call)) <= share - RESERVED_BYTES
        ]
        if fitting:
            room = base.resident * device.attributes["MultiProcessorCount"]
            clusters = architecture >= HOPPER
            yield from fitting[-1].in_parts(call.m, call.n, call.k, room, clusters)


def _candidate(
    workspace: Workspace, call: PackedProduct, operands: tuple[Any, ...], tiling: WarpgroupTiling
) -> Candidate:
    result = workspace.result(call.output)
    kernel = _kernel(workspace.precision, call.m, call.k, packing(call), call.bias, tiling)
    shared = tiling.shared_bytes(call.m, packing(call))
    blocks, size = tiling.blocks(call.m, call.n), tiling.scratch_bytes(call.m, call.n)
    arrived = cupy.zeros(blocks, cupy.uint32)
    scratch = 0

    def prepare() -> int:
        nonlocal scratch
        scratch = workspace.scratch(size)
        kernel.max_dynamic_shared_size_bytes = shared
        return size

    def run() -> None:
        arguments = (*operands, result.array, np.uint64(scratch), arrived, np.int32(call.n))
        kernel((blocks,), (tiling.threads,), arguments, shared_mem=shared)

    name = (
        f"packed rows kernel ({tiling.rows_of(call.m)} rows, {tiling.tiles} x {tiling.warpgroups} "
        f"tiles, {tiling.cluster} x {tiling.splits} parts, {tiling.units} units, "
        f"{tiling.stages} stages)"
    )
    return Candidate(LIBRARY, name, "", prepare, run, result, compiles=not size)


@cache
def _kernel(
    precision: Precision,
    m: int,
    k: int,
    packing: WeightPacking,
    bias: bool,
    tiling: WarpgroupTiling,
) -> Any:
    # Of two architectures the compiler takes the first one, and CuPy's own comes behind it.
    options = ("-arch=sm_90a",) if tiling.asynchronous else ()
    text = source(precision, m, k, packing, bias, tiling)
    return cupy.RawKernel(text, "packed_by_warpgroups", options)
