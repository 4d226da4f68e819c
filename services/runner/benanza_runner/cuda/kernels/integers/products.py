"""Products of 8-bit integers as a kernel, and kernels before and after a library's product.

Libraries multiply signed integers and know no zero points. So unsigned integers are shifted by
`shift` before the product, and a correction for the zero points is subtracted after it. With a and
b as shifted, and their zero points p and q likewise, (a - p)·(b - q) = a·b - p Σb - q Σa + k p q.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import EightBitProduct
from benanza_runner.cuda.candidate import Candidate, Run, no_scratch, refused
from benanza_runner.cuda.elements import IN_MEMORY
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, launch
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

WARP = 32
THREADS = 256


class IntegerProducts:
    """Candidates for products of 8-bit integers: a warp for each element of the result."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """The one kernel, unless the product is too large."""
        call = workspace.call
        if not isinstance(call, EightBitProduct):
            return
        if too_large(call):
            yield refused(LIBRARY, "integer product kernel", "", "it is too large for one kernel")
            return
        a, b = workspace.operand("a").array, workspace.operand("b", (1, 0)).array
        result = workspace.result(call.output, None, "int32")
        kernel = _product(call.a_element, call.b_element, call.a_zero, call.b_zeros)
        zeros = zero_points(workspace, call)
        arguments = (a, b, *zeros, result.array, *map(np.int32, (call.m * call.n, call.n, call.k)))
        run = launch(kernel, -(-call.m * call.n * WARP // THREADS), THREADS, arguments)
        yield Candidate(LIBRARY, "integer product kernel", "", no_scratch, run, result)


def too_large(call: EightBitProduct) -> bool:
    """Whether the result has more elements than the kernels can count."""
    return call.m * call.n >= MOST_ELEMENTS


def shift(element: str) -> int:
    """What is subtracted from integers of a type so that they fit into signed 8 bits."""
    return 128 if element == "uint8" else 0


def zero_points(workspace: Workspace, call: EightBitProduct) -> tuple[Any, Any]:
    """The zero points of both operands. Where there is none, the operand itself fills its place."""
    a = workspace.operand("a_zero" if call.a_zero else "a").array
    b = workspace.operand("b_zero" if call.b_zeros else "b").array
    return a, b


def shifting(a: Any, call: EightBitProduct, shifted: Any, sums: Any) -> Run:
    """What writes `a` as int8 to `shifted`, and the sum of each of its rows in int32 to `sums`."""
    arguments = (a, shifted, sums, np.int32(call.k))
    return launch(_shifting(call.a_element), call.m, THREADS, arguments)


def correction(
    workspace: Workspace, call: EightBitProduct, a_sums: Any, b_sums: Any, result: Any
) -> Run:
    """What subtracts the correction for zero points from the product of shifted operands.

    `a_sums` are sums of rows of the first operand, and `b_sums` of columns of the second.
    """
    kernel = _correction(call.a_element, call.b_element, call.a_zero, call.b_zeros)
    numbers = map(np.int32, (call.m * call.n, call.n, call.k))
    arguments = (*zero_points(workspace, call), a_sums, b_sums, result, *numbers)
    return launch(kernel, -(-call.m * call.n // THREADS), THREADS, arguments)


def _points(a_zero: bool, b_zeros: int, column: str) -> tuple[str, str]:
    """Expressions for both zero points."""
    place = column if b_zeros > 1 else "0"
    return "(int)a_zero[0]" if a_zero else "0", f"(int)b_zero[{place}]" if b_zeros else "0"


def _types(a_element: str, b_element: str) -> str:
    return f"typedef {IN_MEMORY[a_element]} A; typedef {IN_MEMORY[b_element]} B;\n"


@cache
def _product(a_element: str, b_element: str, a_zero: bool, b_zeros: int) -> Any:
    p, q = _points(a_zero, b_zeros, "column")
    source = f"""
extern "C" __global__ void integer_product(const A* __restrict__ a, const B* __restrict__ b,
    const A* __restrict__ a_zero, const B* __restrict__ b_zero, int* __restrict__ result,
    int size, int n, int k) {{
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = thread % 32;
  if (thread / 32 >= size) return;
  const int at = thread / 32, row = at / n, column = at % n;
  const int p = {p}, q = {q};
  int sum = 0;
  for (int i = lane; i < k; i += 32)
    sum += ((int)a[(long long)row * k + i] - p) * ((int)b[(long long)column * k + i] - q);
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0) result[at] = sum;
}}
"""
    return cupy.RawKernel(_types(a_element, b_element) + source, "integer_product")


@cache
def _shifting(element: str) -> Any:
    source = f"""
extern "C" __global__ void shifting(const A* __restrict__ a, signed char* __restrict__ shifted,
    int* __restrict__ sums, int k) {{
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  int sum = 0;
  for (int i = threadIdx.x; i < k; i += blockDim.x) {{
    const long long at = (long long)blockIdx.x * k + i;
    const int v = (int)a[at] - {shift(element)};
    shifted[at] = (signed char)v;
    sum += v;
  }}
  atomicAdd(&total, sum);
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}}
"""
    return cupy.RawKernel(_types(element, element) + source, "shifting")


@cache
def _correction(a_element: str, b_element: str, a_zero: bool, b_zeros: int) -> Any:
    p, q = _points(a_zero, b_zeros, "column")
    source = f"""
extern "C" __global__ void correction(const A* __restrict__ a_zero, const B* __restrict__ b_zero,
    const int* __restrict__ a_sums, const int* __restrict__ b_sums, int* __restrict__ result,
    int size, int n, int k) {{
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= size) return;
  const int row = at / n, column = at % n;
  const int p = {p} - {shift(a_element)}, q = {q} - {shift(b_element)};
  result[at] += k * p * q - p * b_sums[column] - q * a_sums[row];
}}
"""
    return cupy.RawKernel(_types(a_element, b_element) + source, "correction")
