"""Transposed convolutions as one kernel, a thread for each output, compiled through CuPy.

It is slow if there are many channels, but takes any pads and any epilogue.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import TransposedConvolution
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, launch
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_runner.cuda.lowering.products.activations import FUSED, expression
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

THREADS = (64, 256)


class TransposedKernels:
    """Candidates for transposed convolutions: layouts, threads in a block."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each layout and number of threads."""
        call = workspace.call
        if not isinstance(call, TransposedConvolution):
            return
        if max(prod(call.input), prod(call.output), prod(call.filter)) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "kernel", "", "it has too many elements for one kernel")
            return
        if call.activation not in FUSED:
            yield refused(LIBRARY, "kernel", "", f"it has no {call.activation}")
            return
        outputs = prod(call.output)
        for layout, order in workspace.layouts(len(call.input)):
            x = workspace.expanded("input", call.input, order)
            filters = workspace.expanded("filter", call.filter, order)
            result = workspace.result(call.output, order)
            bias = workspace.operand("bias") if call.bias else x
            residual = x
            if call.residual:
                residual = workspace.expanded("residual", call.output, order)
            numbers = (
                call.input[1] // call.groups,
                call.filter[1],
                *call.output[1:],
                *call.input[2:],
                *call.filter[2:],
                *call.strides,
                *call.dilations,
                *call.pads_before,
                *x.strides,
                *filters.strides,
            )
            arguments = (
                x.array,
                filters.array,
                bias.array,
                residual.array,
                result.array,
                np.int32(outputs),
                *map(np.int32, numbers),
            )
            activate = expression(call.activation, call.numbers, "sum")
            what = call.bias, call.residual, activate
            kernel = _transposed_convolution_kernel(
                workspace.precision, len(call.strides), order[1] == 1, *what
            )
            for threads in THREADS:
                run = launch(kernel, -(-outputs // threads), threads, arguments)
                name = f"transposed convolution kernel ({threads} threads)"
                yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


@cache
def _transposed_convolution_kernel(
    precision: Precision, rank: int, channels_first: bool, bias: bool, residual: bool, activate: str
) -> Any:
    axes = range(rank)
    names = ["share", "mine", "C", *(f"o{a}" for a in axes), *(f"n{a}" for a in axes)]
    names += [f"{letter}{a}" for letter in ("k", "step", "dilation", "pad") for a in axes]
    names += ["xn", "xc", *(f"x{a}" for a in axes), "wi", "wo", *(f"w{a}" for a in axes)]
    split = [f"const int at{a} = rest % o{a}; rest /= o{a};" for a in reversed(axes)]
    channel = "const int c = rest % C; rest /= C;"
    split = [*split, channel] if channels_first else [channel, *split]
    loops = "\n  ".join(
        f"for (int f{a} = 0; f{a} < k{a}; ++f{a}) {{ const int m{a} = at{a} + pad{a} - f{a} *"
        f" dilation{a}; if (m{a} < 0 || m{a} % step{a} || m{a} / step{a} >= n{a}) continue;"
        for a in axes
    )
    pixel = " + ".join(f"m{a} / step{a} * x{a}" for a in axes)
    weight = " + ".join(f"f{a} * w{a}" for a in axes)
    source = f"""{PREAMBLE[precision]}
extern "C" __global__ void transposed(const T* __restrict__ x, const T* __restrict__ filter,
    const T* __restrict__ bias, const T* __restrict__ residual, T* __restrict__ y, int outputs,
    {", ".join(f"int {name}" for name in names)}) {{
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= outputs) return;
  int rest = at;
  {" ".join(split)}
  const int first = c / mine * share;
  const T* image = x + rest * xn + first * xc;
  const T* weights = filter + first * wi + c % mine * wo;
  float sum = 0.0f;
  {loops}
    const T* p = image + {pixel};
    const T* w = weights + {weight};
    for (int i = 0; i < share; ++i) sum += load(p[i * xc]) * load(w[i * wi]);
  {"}" * rank}
  {"sum += load(bias[c]);" if bias else ""}
  {"sum += load(residual[at]);" if residual else ""}
  y[at] = store({activate});
}}
"""
    return cupy.RawKernel(source, "transposed")
