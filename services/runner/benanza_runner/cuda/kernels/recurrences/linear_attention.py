"""Linear attention, as kernels that hold states in registers from the first token to the last."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import LinearAttention
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, WIDE_BYTES, launch
from benanza_runner.cuda.kernels.recurrences.linear_attention_source import source
from benanza_runner.cuda.kernels.recurrences.tiles import StateTile, tiles
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision


class LinearAttentionKernels:
    """Candidates for linear attention."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each way of sharing out a state to threads."""
        call = workspace.call
        if not isinstance(call, LinearAttention):
            return
        most = max(prod(array.shape) for array in workspace.operands.values())
        if max(most, prod(call.output), prod(call.state)) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
            return
        found = tiles(call, WIDE_BYTES // PRECISIONS[workspace.precision].bytes)
        if not found:
            yield refused(LIBRARY, "kernel", "", f"a thread holds no {call.size} rows of a state")
        for tile in found:
            yield _candidate(workspace, call, tile)


def _candidate(workspace: Workspace, call: LinearAttention, tile: StateTile) -> Candidate:
    names = ("query", "key", "value", "past", "decay", "beta")
    given = workspace.operands.keys()
    query = workspace.operand("query").array
    written = [workspace.result(call.output), workspace.result(call.state, number=1)]
    result, *more = (written[number] for number in call.results)
    arguments = (
        # What isn't given is not read.
        *(workspace.operand(name).array if name in given else query for name in names),
        *(each.array for each in written),
        np.int32(call.length),
        np.float32(call.scale),
    )
    kernel = _kernel(workspace.precision, call, tile)
    run = launch(kernel, tile.blocks(call), tile.threads, arguments)
    name = f"linear attention kernel ({tile.lanes} threads a column, {tile.columns} columns)"
    return Candidate(LIBRARY, name, "", no_scratch, run, result, tuple(more))


@cache
def _kernel(precision: Precision, call: LinearAttention, tile: StateTile) -> Any:
    return cupy.RawKernel(source(precision, call, tile), "attend")
