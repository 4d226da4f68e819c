"""Products of 8-bit integers through cuBLASLt, which adds them up in int32.

It takes signed integers, the first matrix transposed and the second not, and sizes that are
multiples of 4. Source: the cuBLAS documentation, `cublasLtMatmul()`, on IMMA kernels.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cupy
import numpy as np
from nvmath.bindings import cublasLt

from benanza_runner.cuda.calls import IntegerProduct
from benanza_runner.cuda.candidate import Candidate, Run, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.integers.products import correction, shift, shifting, too_large
from benanza_runner.cuda.libraries.cublaslt.matmul import (
    LIBRARY,
    SCRATCH_BYTES,
    CublasLtSource,
    heuristic,
)
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

CUDA_R_8I, CUDA_R_32I = 3, 10
COMPUTE_32I = 72
MULTIPLE = 4


class IntegerProblem:
    """A product on given memory, with kernels that run before and after it.

    cuBLASLt counts by column, so the `weights` come first, as rows of k, and then the `matrix`,
    both int8; `sums` is where it writes, in int32. `result` is what the last kernel leaves.
    """

    def __init__(
        self,
        handle: int,
        workspace: Workspace,
        size: IntegerProduct,
        weights: Any,
        matrix: Any,
        sums: Any,
        result: DeviceTensor,
        before: Sequence[Run],
        after: Sequence[Run],
    ) -> None:
        self._handle, self._workspace = handle, workspace
        self._weights, self._matrix, self._sums, self._result = weights, matrix, sums, result
        self._before, self._after = before, after
        self._alpha, self._beta = np.array([1], np.int32), np.array([0], np.int32)
        self._what = cublasLt.matmul_desc_create(COMPUTE_32I, CUDA_R_32I)
        self._layouts: list[int] = []
        transposed = np.array([1], np.int32)
        kind = cublasLt.MatmulDescAttribute.TRANSA
        cublasLt.matmul_desc_set_attribute(
            self._what, kind, transposed.ctypes.data, transposed.nbytes
        )
        self._a = self._matrix_layout(CUDA_R_8I, size.k, size.m)
        self._b = self._matrix_layout(CUDA_R_8I, size.k, size.n)
        self._d = self._matrix_layout(CUDA_R_32I, size.n, size.m)

    def _matrix_layout(self, element: int, rows: int, columns: int) -> int:
        self._layouts.append(int(cublasLt.matrix_layout_create(element, rows, columns, rows)))
        return self._layouts[-1]

    def algorithms(self, most: int) -> list[tuple[str, Any, int]]:
        """Name, algorithm and bytes of scratch memory of each, the most promising first."""
        return heuristic(self._handle, self._what, (self._b, self._a, self._d), most)

    def candidate(self, name: str, algorithm: Any, size: int) -> Candidate:
        """The product by this algorithm, with `size` bytes of scratch memory."""
        scratch = 0

        def prepare() -> int:
            nonlocal scratch
            scratch = self._workspace.scratch(SCRATCH_BYTES)
            return size

        def run() -> None:
            for start in self._before:
                start()
            cublasLt.matmul(
                self._handle,
                self._what,
                self._alpha.ctypes.data,
                int(self._weights.data.ptr),
                self._b,
                int(self._matrix.data.ptr),
                self._a,
                self._beta.ctypes.data,
                int(self._sums.data.ptr),
                self._d,
                int(self._sums.data.ptr),
                self._d,
                algorithm.ctypes.data,
                scratch,
                size,
                cupy.cuda.get_current_stream().ptr,
            )
            for start in self._after:
                start()

        return Candidate(LIBRARY, name, "", prepare, run, self._result)

    def __del__(self) -> None:
        for layout in self._layouts:
            cublasLt.matrix_layout_destroy(layout)
        cublasLt.matmul_desc_destroy(self._what)


class CublasLtIntegers(CublasLtSource):
    """Candidates for products of 8-bit integers."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """The algorithms that the heuristic offers."""
        call = workspace.call
        if not isinstance(call, IntegerProduct):
            return
        yield from offered(call, self._most, lambda: self._problem(workspace, call))

    def _problem(self, workspace: Workspace, call: IntegerProduct) -> IntegerProblem:
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
        return IntegerProblem(
            handle, workspace, call, weights, matrix, result.array, result, before, after
        )


def offered(
    size: IntegerProduct, most: int, problem: Callable[[], IntegerProblem]
) -> Iterator[Candidate | Variant]:
    """At most so many algorithms that the heuristic offers for a product of this size."""
    if size.n % MULTIPLE or size.k % MULTIPLE:
        yield refused(LIBRARY, "heuristic", "", f"it takes multiples of {MULTIPLE} only")
        return
    if too_large(size):
        yield refused(LIBRARY, "heuristic", "", "it is too large for the kernels around it")
        return
    try:
        made = problem()
        algorithms = made.algorithms(most)
    except cublasLt.cuBLASLtError as error:
        yield refused(LIBRARY, "heuristic", "", error)
        return
    if not algorithms:
        yield refused(LIBRARY, "heuristic", "", "the heuristic offers no algorithm")
    for name, algorithm, scratch_bytes in algorithms:
        yield made.candidate(name, algorithm, scratch_bytes)
