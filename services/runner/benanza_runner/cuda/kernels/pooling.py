"""Poolings as one kernel, a thread for each output, compiled through CuPy."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Pooling
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.kernels.launching import LIBRARY, WIDE_BYTES, launch
from benanza_runner.cuda.kernels.source.pooling import PoolingWindow, source
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant

THREADS = (64, 256)
WARP = 32
FEW_OUTPUTS = 1 << 18
"""Up to so many outputs, a warp for each is tried as well; its threads share the window."""


class PoolingKernels:
    """Candidates for poolings: layouts, a thread or a warp for each output, threads in a block."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each layout, width of access and number of threads."""
        call = workspace.call
        if not isinstance(call, Pooling):
            return
        outputs = prod(call.output)
        # The kernel knows three axes of space, of which the first may be of one.
        one, none = ((), ()) if len(call.window) == 3 else ((1,), (0,))
        window = PoolingWindow(
            one + call.window, one + call.strides, one + call.dilations, none + call.pads_before
        )
        for layout, order in workspace.layouts(len(call.input)):
            x = workspace.expanded("input", call.input, order)
            result = workspace.result(call.output, order)
            numbers = (call.input[1], *one, *call.input[2:], *one, *call.output[2:])
            arguments = (x.array, result.array, np.int32(outputs), *map(np.int32, numbers))
            first = order[1] == 1
            widths = [1]
            wide = WIDE_BYTES // PRECISIONS[workspace.precision].bytes
            if not first and call.input[1] % wide == 0:
                widths += [wide // 2, wide]
            few = outputs <= FEW_OUTPUTS and prod(call.window) >= WARP // 2
            for lanes, width in product((1, WARP) if few else (1,), widths):
                text = source(workspace.precision, call.mode, first, window, lanes, width)
                kernel = _pooling_kernel(text)
                for threads in THREADS:
                    blocks = -(-outputs * lanes // (width * threads))
                    who = "warp" if lanes == WARP else "thread"
                    name = f"pooling kernel ({width} a {who}, {threads} threads)"
                    run = launch(kernel, blocks, threads, arguments)
                    yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


@cache
def _pooling_kernel(text: str) -> Any:
    return cupy.RawKernel(text, "pool")
