"""Attention behind a kernel that appends the keys and values of new tokens to a cache.

Where queries and keys are rotated, the same kernel does so.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np
from msgspec.structs import replace

from benanza_runner.cuda.calls import CachedAttention, QuantisedCache
from benanza_runner.cuda.candidate import Candidate, Run, in_turn, refused
from benanza_runner.cuda.candidate_source import CandidateSource
from benanza_runner.cuda.device_tensor import AppendedTensor, DeviceTensor
from benanza_runner.cuda.in_parts.part_of_call import PartOfCall
from benanza_runner.cuda.kernels.expanding import expanding, in_floats, is_expanded
from benanza_runner.cuda.kernels.launching import MOST_ELEMENTS, WIDE_BYTES, launch
from benanza_runner.cuda.kernels.source.attention.appending import appending_source
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

THREADS = 128

BEFORE, EXPANDED = "appended, ", "appended, dequantised, "
"""What names of candidates begin with."""


def behind_appending(
    source: CandidateSource, workspace: Workspace, call: CachedAttention
) -> Iterator[Candidate | Variant]:
    """The source's candidates for the attention of such a call, behind the kernel that appends; of
    several queries to a quantised cache, also those behind a kernel that makes floats of it.
    """
    rows = call.tokens * (call.heads + 2 * call.key_heads)
    if max(rows * call.size, prod(workspace.operand("key_cache").shape)) >= MOST_ELEMENTS:
        yield refused(
            source.library, BEFORE + "kernel", "", "it has too many elements for one kernel"
        )
        return
    query = workspace.operand("query")
    if call.rotated:
        shape = call.tokens, call.heads, call.size
        query = workspace.memory.empty(shape, (0, 1, 2), workspace.precision)
    caches = [
        _appended(workspace, name, call, call.results.index(number))
        for number, name in enumerate(("key_cache", "value_cache"), 1)
    ]
    append = _appending(workspace, call, query, *caches)
    ways = [(BEFORE, append, call.attention(), (query, *caches))]
    if is_expanded(call):
        expand, floats = expanding(workspace, call, *caches)
        ways.append((EXPANDED, in_turn(append, expand), in_floats(call), (query, *floats)))
    for before, run, attended, operands in ways:
        made = dict(zip(("query", "key", "value"), operands, strict=True))
        attention = PartOfCall(workspace, attended, made, number=call.results.index(0))
        for offered in source.candidates(attention):
            name = before + offered.algorithm
            if isinstance(offered, Variant):
                yield replace(offered, algorithm=name)
            else:
                written = offered.result, *caches
                result, *more = (written[number] for number in call.results)
                yield offered._replace(
                    algorithm=name,
                    run=in_turn(run, offered.run),
                    result=result,
                    more=tuple(more),
                )


def _appended(
    workspace: Workspace, name: str, call: CachedAttention, number: int
) -> AppendedTensor:
    """A cache as the result of this number."""
    shape = workspace.operand(name).shape
    order = tuple(range(len(shape)))
    tensor = workspace.alias(name, order, shape, order, number)
    new = _new_rows(workspace, call)
    return AppendedTensor(tensor.array, order, workspace.precision, tensor.element, new=new)


def _new_rows(workspace: Workspace, call: CachedAttention) -> tuple[Any, ...]:
    """The index of what is written of a cache."""
    if call.pages is None:
        return ..., slice(call.keys - call.queries, call.keys), slice(None)
    ends, past, table = (workspace.operands[name] for name in ("ends", "past", "table"))
    sequence = np.repeat(np.arange(call.batch), np.diff(ends))
    places = past[sequence] + np.arange(call.tokens) - ends[sequence]
    block, within = np.divmod(places, call.pages.block)
    indices = (table[sequence, block], within)
    return tuple(
        workspace.memory.copied(index.astype(np.int64), (0,), workspace.precision).array
        for index in indices
    )


def _appending(
    workspace: Workspace,
    call: CachedAttention,
    query: DeviceTensor,
    key_cache: DeviceTensor,
    value_cache: DeviceTensor,
) -> Run:
    """What appends to the caches and, where they are rotated, writes queries to `query`."""
    new = [
        workspace.operand(n).array for n in ("query", *(() if call.packed else ("key", "value")))
    ]
    tables = [workspace.operand(n).array for n in ("cosines", "sines") if call.rotated]
    # ONNX Runtime wants heads and rows of tables in multiples of eight elements.
    width = WIDE_BYTES // PRECISIONS[workspace.precision].bytes
    scales = [workspace.exact(n).array for n in ("key_scales", "value_scales") if call.stored]
    heads = 2 * call.key_heads + (call.heads if call.rotated else 0)
    threads = call.tokens * heads * call.size // width
    kernel = _kernel(
        workspace.precision,
        (call.heads, call.key_heads, call.size),
        call.packed,
        call.rotated,
        call.interleaved,
        width,
        call.stored,
        call.pages is not None,
    )
    numbers: tuple[Any, ...] = tuple(map(np.uint32, (call.queries, call.keys, call.room)))
    if call.pages:
        lengths = (workspace.operand(name).array for name in ("ends", "past", "table"))
        more = call.pages.width, call.pages.block, call.batch
        numbers = *lengths, *map(np.uint32, more)
    arguments = (
        *(new * 3)[:3],
        *(tables or new * 2)[:2],
        *(scales or new * 2)[:2],
        query.array,
        key_cache.array,
        value_cache.array,
        *numbers,
        np.uint32(threads),
    )
    return launch(kernel, -(-threads // THREADS), THREADS, arguments)


@cache
def _kernel(
    precision: Precision,
    sizes: tuple[int, int, int],
    packed: bool,
    rotated: int,
    interleaved: bool,
    width: int,
    stored: QuantisedCache | None,
    paged: bool,
) -> Any:
    source = appending_source(
        precision,
        sizes,
        width,
        rotated,
        packed=packed,
        interleaved=interleaved,
        stored=stored,
        paged=paged,
    )
    return cupy.RawKernel(source, "append")
