"""Quantised convolutions and products as one kernel on Tensor Cores, with what follows the sums."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy

from benanza_runner.cuda.calls import Convolution, EightBitProduct, Quantised
from benanza_runner.cuda.calls.quantised import CHANNELS
from benanza_runner.cuda.candidate import Candidate, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.integers.scaling import FOUR, scaled_source
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS
from benanza_runner.cuda.kernels.source.eight_bit_tensor_cores import (
    TILES,
    Tile,
    source,
    windows,
)
from benanza_runner.cuda.layouts import Order
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

ALGORITHM = "eight-bit tensor core kernel"


class EightBitsOnTensorCores:
    """Candidates for quantised convolutions of whole maps, and for quantised products."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each tile, with channels last."""
        call = workspace.call
        if not isinstance(call, Quantised) or not fits(call):
            return
        if max(prod(call.output), prod(windows(call.sums).input)) >= MOST_ELEMENTS:
            yield refused(LIBRARY, ALGORITHM, "", "it has too many elements for one kernel")
            return
        if isinstance(call.sums, EightBitProduct):
            result = workspace.result(call.output, None, call.element)
            operands = [workspace.operand("a"), workspace.operand("b", (1, 0))]
            residual = workspace.operand("residual") if call.residual else result
            for tile in TILES:
                yield _candidate(workspace, call, tile, "", operands, residual, result)
            return
        for layout, order in workspace.layouts(len(call.sums.input)):
            if order[-1] == 1:
                yield from _with_channels_last(workspace, call, call.sums, layout, order)


def fits(call: Quantised) -> bool:
    """Whether kernels that multiply 16 terms at once, and write four columns, take such a call."""
    sums = call.sums
    if isinstance(sums, EightBitProduct):
        if sums.a_zero or sums.b_zeros or sums.b_element == "uint8":
            return False
        return sums.k % CHANNELS == 0 and sums.n % FOUR == 0
    whole = len(sums.input) == 4 and sums.groups == 1
    return whole and sums.input[1] % CHANNELS == 0 and sums.output[1] % FOUR == 0


def _with_channels_last(
    workspace: Workspace, call: Quantised, sums: Convolution, layout: str, order: Order
) -> Iterator[Candidate]:
    result = workspace.result(call.output, order, call.element)
    operands = [
        workspace.expanded("input", sums.input, order),
        workspace.expanded("filter", sums.filter, order),
    ]
    residual = workspace.expanded("residual", sums.output, order) if call.residual else result
    for tile in TILES:
        yield _candidate(workspace, call, tile, layout, operands, residual, result)


def _candidate(
    workspace: Workspace,
    call: Quantised,
    tile: Tile,
    layout: str,
    operands: list[DeviceTensor],
    residual: DeviceTensor,
    result: DeviceTensor,
) -> Candidate:
    sums = windows(call.sums)
    kernel = _kernel(workspace.precision, call, sums, tile)
    tensors = (*operands, workspace.exact("scale"), workspace.exact("bias"), residual, result)
    arguments = tuple(tensor.array for tensor in tensors)
    pixels = sums.output[0] * prod(sums.output[2:])
    blocks = -(-pixels // tile.rows) * -(-sums.output[1] // tile.columns)

    def prepare() -> int:
        kernel.max_dynamic_shared_size_bytes = tile.shared_bytes
        return 0

    def run() -> None:
        kernel((blocks,), (tile.threads,), arguments, shared_mem=tile.shared_bytes)

    name = f"{ALGORITHM} ({tile.rows} by {tile.columns}, {tile.depth} deep)"
    return Candidate(LIBRARY, name, layout, prepare, run, result)


@cache
def _kernel(precision: Precision, call: Quantised, sums: Convolution, tile: Tile) -> Any:
    text = source(sums, call.input_element, tile, scaled_source(precision, call))
    return cupy.RawKernel(text, "multiply_eight_bits")
