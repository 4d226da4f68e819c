"""Products of 8 bits through cuBLASLt, which adds them up in 32 bits.

It takes signed integers or float8, the first matrix transposed and the second not, and sizes that
are multiples of a few bytes. Source: the cuBLAS documentation, `cublasLtMatmul()`, on IMMA kernels
and on FP8 kernels.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cupy
import numpy as np
from nvmath.bindings import cublasLt

from benanza_runner.cuda.calls import EightBitProduct
from benanza_runner.cuda.candidate import Candidate, Run, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.kernels.integers.products import too_large
from benanza_runner.cuda.libraries.cublaslt.matmul import (
    COMPUTE_32F,
    CUDA_R_32F,
    LIBRARY,
    SCRATCH_BYTES,
    heuristic,
)
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

CUDA_R_8I, CUDA_R_32I, CUDA_R_8F_E4M3 = 3, 10, 28
COMPUTE_32I = 72
TYPES = {
    False: (CUDA_R_8I, CUDA_R_32I, COMPUTE_32I, np.int32),
    True: (CUDA_R_8F_E4M3, CUDA_R_32F, COMPUTE_32F, np.float32),
}
"""By whether factors are float8: of factors, of sums and of adding up, and NumPy's for a number."""

MULTIPLES = {False: 4, True: 16}
"""By whether factors are float8: what columns and terms are multiples of."""


class EightBitProblem:
    """A product on given memory, with kernels that run before and after it.

    cuBLASLt counts by column, so the `weights` come first, as rows of k, and then the `matrix`;
    both are int8, or codes of float8. `sums` is where it writes, in int32 or float32. `result` is
    what the last kernel leaves.
    """

    def __init__(
        self,
        handle: int,
        workspace: Workspace,
        size: EightBitProduct,
        weights: Any,
        matrix: Any,
        sums: Any,
        result: DeviceTensor,
        before: Sequence[Run] = (),
        after: Sequence[Run] = (),
    ) -> None:
        self._handle, self._workspace = handle, workspace
        self._weights, self._matrix, self._sums, self._result = weights, matrix, sums, result
        self._before, self._after = before, after
        multiplied, added, compute, scalar = TYPES[size.a_element == FLOAT8]
        self._alpha, self._beta = np.array([1], scalar), np.array([0], scalar)
        self._what = cublasLt.matmul_desc_create(compute, added)
        self._layouts: list[int] = []
        transposed = np.array([1], np.int32)
        kind = cublasLt.MatmulDescAttribute.TRANSA
        cublasLt.matmul_desc_set_attribute(
            self._what, kind, transposed.ctypes.data, transposed.nbytes
        )
        self._a = self._matrix_layout(multiplied, size.k, size.m)
        self._b = self._matrix_layout(multiplied, size.k, size.n)
        self._d = self._matrix_layout(added, size.n, size.m)

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


def offered(
    size: EightBitProduct, most: int, problem: Callable[[], EightBitProblem]
) -> Iterator[Candidate | Variant]:
    """At most so many algorithms that the heuristic offers for a product of this size."""
    multiple = MULTIPLES[size.a_element == FLOAT8]
    if size.n % multiple or size.k % multiple:
        yield refused(LIBRARY, "heuristic", "", f"it takes multiples of {multiple} only")
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
