"""Products of 8-bit integers with zero points through cuBLASLt."""

from collections.abc import Iterator

import cupy

from benanza_runner.cuda.calls import EightBitProduct
from benanza_runner.cuda.candidate import Candidate, Run
from benanza_runner.cuda.kernels.integers.products import correction, shift, shifting
from benanza_runner.cuda.libraries.cublaslt.eight_bits import EightBitProblem, offered
from benanza_runner.cuda.libraries.cublaslt.matmul import LIBRARY, CublasLtSource
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant


class CublasLtIntegers(CublasLtSource):
    """Candidates for products of 8-bit integers."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """The algorithms that the heuristic offers."""
        call = workspace.call
        if not isinstance(call, EightBitProduct):
            return
        yield from offered(call, self._most, lambda: self._problem(workspace, call))

    def _problem(self, workspace: Workspace, call: EightBitProduct) -> EightBitProblem:
        given = workspace.operand("a").array
        result = workspace.result(call.output, None, "int32")
        shifted = workspace.operand("b", (1, 0)).array.astype(cupy.int32) - shift(call.b_element)
        weights = cupy.ascontiguousarray(shifted.astype(cupy.int8))
        matrix, before, after = given, list[Run](), list[Run]()
        # Sums of rows are needed if the weights have a zero point, or get one by the shift.
        if shift(call.a_element) or call.b_zeros or shift(call.b_element):
            matrix = cupy.empty((call.m, call.k), cupy.int8)
            sums = cupy.empty(call.m, cupy.int32)
            before.append(shifting(given, call, matrix, sums))
        else:
            sums = cupy.zeros(call.m, cupy.int32)
        if before or call.a_zero:
            columns = shifted.sum(axis=1, dtype=cupy.int32)
            after.append(correction(workspace, call, sums, columns, result.array))
        handle = self._handle
        return EightBitProblem(
            handle, workspace, call, weights, matrix, result.array, result, before, after
        )
