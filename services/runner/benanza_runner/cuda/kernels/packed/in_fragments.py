"""Products of up to some dozens of rows with weights of four bits that lie in fragments.

Weights are read once and packed, and Tensor Cores multiply them with all rows. Source: "MARLIN:
mixed-precision auto-regressive parallel inference on large language models" (Frantar et al., 2024),
whose kernel has weights laid out for its threads likewise.
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
from benanza_runner.cuda.kernels.packed.fragment_tiling import FragmentTiling
from benanza_runner.cuda.kernels.packed.fragments import weights_in_fragments
from benanza_runner.cuda.kernels.packed.fragments_source import source
from benanza_runner.cuda.kernels.packed.weights import fits, packing
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

MOST_ROWS = 64

FEW_ROWS = 16

TILINGS_FOR_FEW = (
    FragmentTiling(2, 1, 16, 2, 2),
    FragmentTiling(2, 1, 8, 2, 2),
    FragmentTiling(4, 1, 8, 1, 3),
    FragmentTiling(4, 1, 8, 2, 2),
    FragmentTiling(1, 1, 8, 2, 2),
    FragmentTiling(2, 1, 16, 1, 3),
    FragmentTiling(2, 2, 4, 2, 2),
)
"""For `FEW_ROWS` at most: narrow blocks, as reading rows again costs little. Of ten that were tried
on an H200 with an earlier form of the kernel, the fastest for up to eight rows was one of these, or
took 2% less.
"""

SOME_ROWS = 9

TILINGS_FOR_SOME = (
    FragmentTiling(2, 8, 1, 2, 3),
    FragmentTiling(1, 4, 2, 2, 3),
    FragmentTiling(2, 4, 2, 1, 3),
    FragmentTiling(2, 4, 4, 1, 3),
    FragmentTiling(2, 4, 2, 2, 3),
)
"""For `SOME_ROWS` and more: warps side by side share rows. Of six that were tried there, the
fastest was one of these, or took 1% less.
"""

CLUSTERS = (2, 4, 8)
"""How many blocks share sums out: as many as all multiprocessors take at once."""

RESIDENT = 2
"""Blocks that a multiprocessor is taken to have room for."""

OLDEST_WITH_CLUSTERS = 90


class PackedInFragments:
    """Candidates for products of several rows with weights of four bits in fp16 and bf16."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each tiling of a block, for one or two sizes of clusters."""
        call = workspace.call
        if not isinstance(call, PackedProduct) or call.m > MOST_ROWS or call.bits != 4:
            return
        # Rows of elements are read by eight, and a unit's weights lie in whole blocks, or in one.
        whole = call.block == 32 or call.block % 64 == 0
        if PRECISIONS[workspace.precision].bytes != 2 or call.k % 8 or not (fits(call) and whole):
            return
        if not fixed(workspace, call):
            return
        operands = _operands(workspace, call)
        yield from (_candidate(workspace, call, operands, each) for each in _tilings(call))


def _tilings(call: PackedProduct) -> Iterator[FragmentTiling]:
    """Those that fit, each with the two largest clusters of which all have room at once."""
    device = cupy.cuda.Device()
    memory = device.attributes["MaxSharedMemoryPerBlockOptin"]
    room = RESIDENT * device.attributes["MultiProcessorCount"]
    clusters = CLUSTERS if int(device.compute_capability) >= OLDEST_WITH_CLUSTERS else ()
    for base in (
        *TILINGS_FOR_FEW * (call.m <= FEW_ROWS),
        *TILINGS_FOR_SOME * (call.m >= SOME_ROWS),
    ):
        if base.shared_bytes(call.m) > memory:
            continue
        blocks, rounds = -(-call.n // base.columns), base.rounds(call.k)
        sizes = [1, *(each for each in clusters if each <= rounds and blocks * each <= room)]
        yield from (base._replace(cluster=size) for size in sizes[-2:])


def _operands(workspace: Workspace, call: PackedProduct) -> tuple[Any, ...]:
    weights = workspace.laid_out("b", partial(weights_in_fragments, n=call.n))
    return fragment_operands(workspace, call, weights.array)


def _candidate(
    workspace: Workspace, call: PackedProduct, operands: tuple[Any, ...], tiling: FragmentTiling
) -> Candidate:
    result = workspace.result(call.output)
    kernel = _kernel(workspace.precision, call.m, call.k, packing(call), call.bias, tiling)
    blocks = -(-call.n // tiling.columns) * tiling.cluster
    shared = tiling.shared_bytes(call.m)
    arguments = (*operands, result.array, np.int32(call.n))

    def prepare() -> int:
        kernel.max_dynamic_shared_size_bytes = shared
        return 0

    def run() -> None:
        kernel((blocks,), (tiling.threads,), arguments, shared_mem=shared)

    name = (
        f"packed fragments kernel ({tiling.tiles} x {tiling.across} tiles, {tiling.along} x "
        f"{tiling.cluster} parts, {tiling.units} units, {tiling.stages} stages)"
    )
    return Candidate(LIBRARY, name, "", prepare, run, result, compiles=True)


@cache
def _kernel(
    precision: Precision, m: int, k: int, packing: WeightPacking, bias: bool, tiling: FragmentTiling
) -> Any:
    return cupy.RawKernel(source(precision, m, k, packing, bias, tiling), "packed_in_fragments")
