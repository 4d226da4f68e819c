"""Attention of a few queries over many keys, as in a step of decoding, as a kernel that shares the
keys out over blocks.

Each key is read once for all heads that it serves, so that the kernel is bound by memory.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.calls import Attention, CachedAttention
from benanza_runner.cuda.candidate import Candidate, refused
from benanza_runner.cuda.kernels.appending import behind_appending
from benanza_runner.cuda.kernels.attention import (
    mask_steps,
    operands_of,
    pages_of,
    scoring_in,
)
from benanza_runner.cuda.kernels.launching import LIBRARY, MOST_ELEMENTS, WIDE_BYTES
from benanza_runner.cuda.kernels.source.attention.cached_rows import line_bytes
from benanza_runner.cuda.kernels.source.attention.scores import Scoring
from benanza_runner.cuda.kernels.source.attention.split_attention import (
    KEYS,
    PADDING,
    ROWS,
    WARPS,
    source,
)
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

MOST_ROWS = 256
"""Queries times the heads that share a key: with more, arithmetic counts, and others are faster.
So many are those of a small picture's patches.
"""

LARGEST_HEAD = 256

LOADED_BYTES = 32
"""Of a row, which a warp takes from shared memory at once."""

BLOCKS = (1, 2, 3, 4)
"""How many blocks a multiprocessor gets, at most: the keys are shared out so. With one more than
fit at once, most multiprocessors would wait for the last blocks.
"""

MOST_SPLITS = 256
"""More would take the last block too long to merge."""

LEAST_KEYS = 128
"""A block has no fewer, unless there are no more."""

HALF_OF_SHARED_BYTES = 112_000
"""With so much of a multiprocessor's shared memory, two blocks are there at once, on Hopper."""


class SplitAttention:
    """Candidates for attention of few queries in fp16 and bf16, with rows of adjacent elements."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One for each number of parts into which the keys are split."""
        call = workspace.call
        if isinstance(call, CachedAttention):
            yield from behind_appending(self, workspace, call)
        if not isinstance(call, Attention) or not fits(call, workspace.precision):
            return
        if max(prod(call.output), call.batch * call.heads * call.keys) >= MOST_ELEMENTS:
            yield refused(LIBRARY, "split kernel", "", "it has too many elements for one kernel")
            return
        group = call.heads // call.key_heads
        wholes = call.batch * call.key_heads * -(-call.queries * group // ROWS)
        processors = int(cupy.cuda.Device().attributes["MultiProcessorCount"])
        most = min(MOST_SPLITS, -(-_most_keys(call) // LEAST_KEYS))
        for splits in dict.fromkeys(
            min(most, max(1, blocks * processors // wholes)) for blocks in BLOCKS
        ):
            yield _candidate(workspace, call, wholes, splits)


def fits(call: Attention, precision: Precision) -> bool:
    """Whether the kernel takes such a call."""
    steps = (call.query_steps, call.key_steps, call.value_steps)
    starts = (call.query_start, call.key_start, call.value_start)
    if PRECISIONS[precision].bytes != 2 or any(step[3] != 1 for step in steps):
        return False
    wide = WIDE_BYTES // PRECISIONS[precision].bytes
    of_keys = WIDE_BYTES if call.stored else wide
    if any(
        place % width
        for of_operand, start, width in zip(steps, starts, (wide, of_keys, of_keys), strict=True)
        for place in (*of_operand[:3], start)
    ):
        return False
    if call.size % ROWS or _row_bytes(call) % LOADED_BYTES or call.size > LARGEST_HEAD:
        return False
    if call.pages and call.pages.block % KEYS:
        return False
    if call.size != call.width or call.key_heads != call.value_heads:
        return False
    return call.queries * call.heads // call.key_heads <= MOST_ROWS


def _most_keys(call: Attention) -> int:
    """How many keys are read of a sequence: those of pages in windows, and some of their block."""
    if call.pages and call.window:
        return min(call.keys, call.window + call.queries + KEYS)
    return call.keys


def _row_bytes(call: Attention) -> int:
    """Those of a row of keys: of two bytes for each element, or of codes."""
    return call.size // call.stored.per_byte if call.stored else 2 * call.size


def _candidate(workspace: Workspace, call: Attention, wholes: int, splits: int) -> Candidate:
    group = call.heads // call.key_heads
    per_split = -(-_most_keys(call) // splits)
    if call.pages:
        per_split = -(-per_split // KEYS) * KEYS
    result = workspace.result(call.output)
    operands = operands_of(workspace, call)
    round_bytes = 2 * ROWS * line_bytes(_row_bytes(call)) * WARPS
    # Two rounds where two blocks fit so, but not with three.
    stages = 2 if 2 * round_bytes <= HALF_OF_SHARED_BYTES < 3 * round_bytes else 3
    shared = max(stages * round_bytes, 4 * WARPS * ROWS * (call.size + PADDING))
    kernel = _kernel(workspace.precision, call.size, stages, scoring_in(workspace, call))
    arrived = cupy.zeros(wholes, cupy.uint32)
    scratch = 0

    def prepare() -> int:
        nonlocal scratch
        size = 4 * wholes * splits * ROWS * (call.size + 2) if splits > 1 else 0
        scratch = workspace.scratch(size)
        kernel.max_dynamic_shared_size_bytes = shared
        return size

    def run() -> None:
        arguments = (
            *operands,
            result.array,
            *pages_of(workspace, call),
            np.uint64(scratch),
            arrived,
            np.float32(call.scale),
            *map(np.float32, (*(call.chosen or (0.0, 0.0)), call.cap)),
            *map(np.uint32, (call.key_heads, group, call.queries, call.keys)),
            *map(np.uint32, (splits, per_split, call.before, call.window)),
            *map(np.int64, (*call.query_steps[:3], *call.key_steps[:3], *call.value_steps[:3])),
            *map(np.int64, (*mask_steps(call), *call.output_steps)),
        )
        kernel((wholes * splits,), (32 * WARPS,), arguments, shared_mem=shared)

    name = f"split attention kernel ({splits} parts, {stages} stages)"
    return Candidate(LIBRARY, name, "", prepare, run, result)


@cache
def _kernel(precision: Precision, size: int, stages: int, scoring: Scoring) -> Any:
    return cupy.RawKernel(source(precision, size, stages, scoring), "attend")
