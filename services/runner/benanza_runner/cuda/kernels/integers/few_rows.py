"""Products of few rows with weights in 8 bits as one kernel, which is bound by reading weights."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import cupy

from benanza_runner.cuda.calls import EightBitProduct, Quantised
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.kernels.integers.few_rows_source import COLUMNS, few_rows_source
from benanza_runner.cuda.kernels.integers.scaling import scaled_source
from benanza_runner.cuda.kernels.integers.tensor_cores import fits
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, launch
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

MOST_ROWS = 32
"""With more, sums take the registers that reads of weights need."""

WARPS = (2, 4, 8, 16)


class FewRowsOfEightBits:
    """Candidates for quantised products of up to `MOST_ROWS` rows."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each number of warps that share a column."""
        call = workspace.call
        if not isinstance(call, Quantised) or not isinstance(call.sums, EightBitProduct):
            return
        sums = call.sums
        if not fits(call) or sums.m > MOST_ROWS or sums.m * sums.n >= MOST_ELEMENTS:
            return
        result = workspace.result(call.output, None, call.element)
        tensors = (
            workspace.operand("a"),
            workspace.operand("b", (1, 0)),
            workspace.exact("scale"),
            workspace.exact("bias"),
            workspace.operand("residual") if call.residual else result,
            result,
        )
        arguments = tuple(tensor.array for tensor in tensors)
        for warps in WARPS:
            kernel = _kernel(workspace.precision, call, sums, warps)
            run = launch(kernel, -(-sums.n // COLUMNS), 32 * warps, arguments)
            name = f"eight-bit kernel for few rows ({warps} warps)"
            yield Candidate(LIBRARY, name, "", no_scratch, run, result)


@cache
def _kernel(precision: Precision, call: Quantised, sums: EightBitProduct, warps: int) -> Any:
    text = few_rows_source(sums, call.input_element, warps, scaled_source(precision, call))
    return cupy.RawKernel(text, "multiply_few_rows")
