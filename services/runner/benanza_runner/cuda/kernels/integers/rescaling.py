"""Sums of quantised products, scaled and written in 8 bits or as floats: what follows a library."""

from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Quantised
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.kernels.integers.scaling import FOUR, scaled_source
from benanza_runner.cuda.kernels.launching import launch
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.layer import Precision

THREADS = 256


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
    source = f"""{scaled_source(precision, call)}
extern "C" __global__ void rescaling(const Sums* __restrict__ sums,
    const float4* __restrict__ scale, const float4* __restrict__ bias,
    const Added* __restrict__ residual, Written* __restrict__ result, int size, int n) {{
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < size) result[at] = scaled(sums[at], scale[at % n], bias[at % n], residual, at);
}}
"""
    return cupy.RawKernel(source, "rescaling")
