"""The source of what follows the sums of a quantised product: they are scaled and written."""

from benanza_runner.cuda.calls import Quantised
from benanza_runner.cuda.elements import FLOAT8, IN_MEMORY
from benanza_runner.cuda.kernels.launching import preamble
from benanza_runner.cuda.kernels.source.float8 import CONVERSIONS, from_float8, to_float8
from benanza_runner.cuda.lowering.elementwise.expressions import literal
from benanza_runner.cuda.lowering.elementwise.quantisation import QUANTISED
from benanza_runner.cuda.lowering.products.activations import expression
from benanza_schemas.layer import Precision

FOUR = 4
"""Columns of a thread. Their number has to be a multiple of it."""


def scaled_source(precision: Precision, call: Quantised) -> str:
    """The function `scaled`, which computes what follows the sums for four neighbours in a row: of
    type `Written`, from `Sums` of type `Sum`, and the `Added` at the same place of the residual.
    """
    element = call.residual_element if call.residual else "int32"
    read = "read(added.e[i])"
    number = from_float8(read) if element == FLOAT8 else f"(float){read}"
    added = f"{literal(call.factor)} * {number}" if call.residual else "0.0f"
    sum_type = "float" if call.of_float8 else "int"
    if call.element == FLOAT8:
        written = to_float8("v")
    elif call.element:
        least, greatest = QUANTISED[call.element]
        written = f"(long long)fminf(fmaxf(rintf(v), {least}.0f), {greatest}.0f)"
    else:
        written = "v"
    return f"""
{preamble(precision, element)}{CONVERSIONS}
typedef {sum_type} Sum;
typedef {sum_type}4 Sums;
struct alignas(sizeof(E) * {FOUR}) Added {{ E e[{FOUR}]; }};
{_result_type(call.element)}
struct alignas(sizeof(R) * {FOUR}) Written {{ R e[{FOUR}]; }};
__device__ __forceinline__ Written scaled(const Sums s, const float4 f, const float4 b,
    const Added* __restrict__ residual, int at) {{
  const float x[{FOUR}] = {{s.x * f.x + b.x, s.y * f.y + b.y, s.z * f.z + b.z, s.w * f.w + b.w}};
  {"const Added added = residual[at];" if call.residual else ""}
  Written four;
  #pragma unroll
  for (int i = 0; i < {FOUR}; ++i) {{
    const float in0 = x[i] + {added};
    const float v = ({expression(call.activation, call.numbers, "in0")}) * {literal(call.step)};
    four.e[i] = write_result({written});
  }}
  return four;
}}
"""


def _result_type(element: str) -> str:
    """`R`, the type of the result's elements, and what writes one."""
    if not element:
        return "typedef T R;\n#define write_result store\n"
    kind = IN_MEMORY[element]
    return f"typedef {kind} R;\n#define write_result(v) (({kind})(v))\n"
