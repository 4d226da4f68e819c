"""Normalisation over neighbouring channels, as kernels compiled through CuPy."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Normalisation
from benanza_runner.cuda.candidate import Candidate, no_scratch
from benanza_runner.cuda.kernels.launching import LIBRARY, WIDE_BYTES, launch
from benanza_runner.cuda.kernels.source.normalisation import source
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

THREADS = (128, 256)


class ChannelNormalisationKernels:
    """Candidates for normalisations over neighbouring channels."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each layout, width of access and number of threads."""
        call = workspace.call
        if isinstance(call, Normalisation):
            yield from _normalisations(workspace, call)


def _normalisations(workspace: Workspace, call: Normalisation) -> Iterator[Candidate | Variant]:
    elements = prod(call.input)
    channels, space = call.input[1], prod(call.input[2:])
    factors = (call.alpha / call.size, -call.beta, call.bias)
    for layout, order in workspace.layouts(len(call.input)):
        x, result = workspace.operand("input", order), workspace.result(call.input, order)
        first = order[1] == 1
        step = space if first else 1
        arguments = (
            x.array,
            result.array,
            *map(np.int32, (elements, channels, step)),
            *map(np.float32, factors),
        )
        wide = WIDE_BYTES // x.element_bytes
        for width in (1, wide // 2, wide):
            if width > 1 and (space if first else channels) % width:
                continue
            if width > 1 and not first and call.size // 2 > width:
                continue
            along = width > 1 and not first
            text = source(workspace.precision, call.size, call.beta, width, along=along)
            kernel = _normalisation(text)
            for threads in THREADS:
                run = launch(kernel, -(-elements // (width * threads)), threads, arguments)
                name = f"normalisation kernel ({width} wide, {threads} threads)"
                yield Candidate(LIBRARY, name, layout, no_scratch, run, result)


@cache
def _normalisation(text: str) -> Any:
    return cupy.RawKernel(text, "normalise")
