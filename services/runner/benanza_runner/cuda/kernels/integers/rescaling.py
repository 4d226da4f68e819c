"""Sums of quantised products, scaled and written in 8 bits or as floats: what follows a library."""

from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Quantised
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.elements import FLOAT8, IN_MEMORY
from benanza_runner.cuda.kernels.launching import launch, preamble
from benanza_runner.cuda.kernels.source.float8 import CONVERSIONS, from_float8, to_float8
from benanza_runner.cuda.lowering.elementwise.expressions import literal
from benanza_runner.cuda.lowering.elementwise.quantisation import QUANTISED
from benanza_runner.cuda.lowering.products.activations import expression
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.layer import Precision

THREADS = 256
FOUR = 4
"""Columns of a thread. Their number has to be a multiple of it."""


def rescaling(workspace: Workspace, call: Quantised, sums: Any, bias: Any, result: Any) -> Run:
    """What writes the result of a product, given its sums as rows of n columns.

    `bias` stands for the call's, in float32. n is a multiple of `FOUR`.
    """
    rows, n = sums.shape
    arguments = (
        sums,
        workspace.exact("scale").array,
        bias,
        workspace.operand("residual").array if call.residual else sums,
        result,
        np.int32(rows * n // FOUR),
        np.int32(n // FOUR),
    )
    blocks = -(-rows * n // (FOUR * THREADS))
    return launch(_rescaling(workspace.precision, call), blocks, THREADS, arguments)


@cache
def _rescaling(precision: Precision, call: Quantised) -> Any:
    element = call.residual_element if call.residual else "int32"
    read = "read(added.e[i])"
    number = from_float8(read) if element == FLOAT8 else f"(float){read}"
    added = f"{literal(call.factor)} * {number}" if call.residual else "0.0f"
    sums = "float4" if call.of_float8 else "int4"
    if call.element == FLOAT8:
        written = to_float8("v")
    elif call.element:
        least, greatest = QUANTISED[call.element]
        written = f"(long long)fminf(fmaxf(rintf(v), {least}.0f), {greatest}.0f)"
    else:
        written = "v"
    source = f"""
{preamble(precision, element)}{CONVERSIONS}
struct alignas(sizeof(E) * {FOUR}) Added {{ E e[{FOUR}]; }};
{_result_type(call.element)}
struct alignas(sizeof(R) * {FOUR}) Written {{ R e[{FOUR}]; }};
extern "C" __global__ void rescaling(const {sums}* __restrict__ sums,
    const float4* __restrict__ scale, const float4* __restrict__ bias,
    const Added* __restrict__ residual, Written* __restrict__ result, int size, int n) {{
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= size) return;
  const {sums} s = sums[at];
  const float4 f = scale[at % n], b = bias[at % n];
  const float x[{FOUR}] = {{s.x * f.x + b.x, s.y * f.y + b.y, s.z * f.z + b.z, s.w * f.w + b.w}};
  {"const Added added = residual[at];" if call.residual else ""}
  Written four;
  #pragma unroll
  for (int i = 0; i < {FOUR}; ++i) {{
    const float in0 = x[i] + {added};
    const float v = ({expression(call.activation, call.numbers, "in0")}) * {literal(call.step)};
    four.e[i] = write_result({written});
  }}
  result[at] = four;
}}
"""
    return cupy.RawKernel(source, "rescaling")


def _result_type(element: str) -> str:
    """`R`, the type of the result's elements, and what writes one."""
    if not element:
        return "typedef T R;\n#define write_result store\n"
    kind = IN_MEMORY[element]
    return f"typedef {kind} R;\n#define write_result(v) (({kind})(v))\n"
