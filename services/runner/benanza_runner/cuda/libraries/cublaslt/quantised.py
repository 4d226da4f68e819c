"""Quantised products through cuBLASLt: sums, which a kernel then scales."""

from collections.abc import Iterator

import cupy

from benanza_runner.cuda.calls import EightBitProduct, Quantised
from benanza_runner.cuda.candidate import Candidate, Run
from benanza_runner.cuda.kernels.integers.products import shift, shifting
from benanza_runner.cuda.kernels.integers.rescaling import rescaling
from benanza_runner.cuda.libraries.cublaslt.eight_bits import EightBitProblem, offered
from benanza_runner.cuda.libraries.cublaslt.matmul import LIBRARY, CublasLtSource
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant


class CublasLtQuantised(CublasLtSource):
    """Candidates for quantised products."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """The algorithms that the heuristic offers."""
        call = workspace.call
        if isinstance(call, Quantised) and isinstance(call.sums, EightBitProduct):
            size = call.sums
            yield from offered(size, self._most, lambda: self._problem(workspace, call, size))

    def _problem(
        self, workspace: Workspace, call: Quantised, size: EightBitProduct
    ) -> EightBitProblem:
        matrix, before = workspace.operand("a").array, list[Run]()
        weights = workspace.operand("b", (1, 0)).array
        scale, bias = workspace.exact("scale").array, workspace.exact("bias").array
        if moved := shift(size.a_element):
            # (a - 128)·b is too small by 128 times the sum of each column.
            given, matrix = matrix, cupy.empty((size.m, size.k), cupy.int8)
            sums_of_rows = cupy.empty(size.m, cupy.int32)
            before.append(shifting(given, size, matrix, sums_of_rows))
            columns = weights.astype(cupy.int32).sum(axis=1)
            bias = bias + scale * (moved * columns).astype(cupy.float32)
        result = workspace.result(call.output, None, call.element)
        sums = cupy.empty((size.m, size.n), cupy.float32 if call.of_float8 else cupy.int32)
        after = [rescaling(workspace, call, sums, bias, result.array)]
        return EightBitProblem(
            self._handle, workspace, size, weights, matrix, sums, result, before, after
        )
