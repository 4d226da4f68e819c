"""Attention to vectors that are keys and values at once, each read once, in a step of decoding."""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Attention
from benanza_runner.cuda.candidate import Candidate, refused
from benanza_runner.cuda.kernels.attention import mask_steps, operands_of, scoring_in
from benanza_runner.cuda.kernels.latent.source import WARPS, Shape, shared_bytes, source
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, WIDE_BYTES
from benanza_runner.cuda.kernels.source.attention.scores import Scoring
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

SHAPES = (Shape(16, 32, 2), Shape(16, 64, 2), Shape(16, 32, 4), Shape(64, 32, 3), Shape(64, 32, 2))

MOST_ROWS = 1024
"""Queries times the heads that share a vector: with more, libraries are faster."""

BLOCKS = (1, 2)
"""How many blocks a multiprocessor gets, at most."""

MOST_SPLITS = 128
"""More would take the last block too long to merge."""

LEAST_KEYS = 64
"""A block has no fewer, unless there are no more."""


class LatentAttention:
    """Candidates for attention whose values are in its keys, in fp16 and bf16."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each shape of a block and number of parts into which the vectors are split."""
        call = workspace.call
        if not isinstance(call, Attention) or not fits(call, workspace.precision):
            return
        if max(prod(call.output), call.batch * call.heads * call.keys) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "latent kernel", "", "it has too many elements for one kernel")
            return
        device = cupy.cuda.Device().attributes
        rows = call.queries * call.heads // call.key_heads
        most = min(MOST_SPLITS, -(-call.keys // LEAST_KEYS))
        for shape in SHAPES:
            room = int(device["MaxSharedMemoryPerBlockOptin"])
            if shared_bytes(call.size, shape) > room or shape.rows > max(16, 2 * rows):
                continue
            wholes = call.batch * call.key_heads * -(-rows // shape.rows)
            splits = (blocks * int(device["MultiProcessorCount"]) // wholes for blocks in BLOCKS)
            for split in dict.fromkeys(min(most, max(1, each)) for each in splits):
                yield _candidate(workspace, call, shape, wholes, split)


def fits(call: Attention, precision: Precision) -> bool:
    """Whether the kernel takes such a call."""
    steps = (call.query_steps, call.key_steps)
    if not call.shared or call.biased or PRECISIONS[precision].bytes != 2:
        return False
    if any(step[3] != 1 for step in steps) or call.size % 16 or call.width % (16 * WARPS):
        return False
    wide = WIDE_BYTES // PRECISIONS[precision].bytes
    if any(step % wide for of_operand in steps for step in of_operand[:3]):
        return False
    if call.query_start % wide or call.key_start % wide or call.key_heads != call.value_heads:
        return False
    return call.queries * call.heads // call.key_heads <= MOST_ROWS


def _candidate(
    workspace: Workspace, call: Attention, shape: Shape, wholes: int, splits: int
) -> Candidate:
    group = call.heads // call.key_heads
    per_split = -(-call.keys // splits)
    result = workspace.result(call.output)
    query, key, _, mask, sinks, *_ = operands_of(workspace, call)
    shared = shared_bytes(call.size, shape)
    scored = scoring_in(workspace, call)
    kernel = _kernel(workspace.precision, call.size, call.width, shape, scored)
    arrived = cupy.zeros(wholes, cupy.uint32)
    scratch = 0

    def prepare() -> int:
        nonlocal scratch
        size = 4 * wholes * splits * shape.rows * (call.width + 2) if splits > 1 else 0
        scratch = workspace.scratch(size)
        kernel.max_dynamic_shared_size_bytes = shared
        return size

    def run() -> None:
        arguments = (
            *(query, key, mask, sinks, result.array),
            np.uint64(scratch),
            arrived,
            np.float32(call.scale),
            *map(np.float32, (*(call.chosen or (0.0, 0.0)), call.cap)),
            *map(np.uint32, (call.key_heads, group, call.queries, call.keys)),
            *map(np.uint32, (splits, per_split, call.before, call.window)),
            *map(np.int64, (*call.query_steps[:3], *call.key_steps[:3])),
            *map(np.int64, (*mask_steps(call), *call.output_steps)),
        )
        kernel((wholes * splits,), (32 * WARPS,), arguments, shared_mem=shared)

    name = f"latent attention kernel ({splits} parts, {shape.rows} rows, {shape.keys} keys, "
    return Candidate(LIBRARY, f"{name}{shape.stages} stages)", "", prepare, run, result)


@cache
def _kernel(precision: Precision, size: int, width: int, shape: Shape, scoring: Scoring) -> Any:
    return cupy.RawKernel(source(precision, size, width, shape, scoring), "attend")
