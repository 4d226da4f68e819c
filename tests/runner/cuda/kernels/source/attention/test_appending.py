"""New keys and values get to their places, and queries and keys are rotated, as NumPy does it."""

from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import CachedAttention
from benanza_runner.cuda.kernels.source.attention.appending import appending_source
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.onnx_layers.precision import retyped
from tests.runner.cuda.in_numpy.attention import appended, numbers
from tests.runner.cuda.kernels.source.on_the_cpu import aligned, run
from tests.runner.cuda.layers.own import GROUPED, PAGED

pytestmark = pytest.mark.integration

WIDTH = 4


KEEPING = GROUPED | PAGED


@pytest.mark.parametrize("name", list(KEEPING))
def test_rows_are_rotated_and_appended(name: str, tmp_path: Path) -> None:
    layer = retyped(KEEPING[name], "fp32")
    call, operands, _ = lower(layer, random_inputs(layer, "fp32"))
    assert isinstance(call, CachedAttention)
    expected_query, *expected_caches = appended(call, operands)
    query = aligned(np.full(expected_query.shape, np.nan))
    caches = [aligned(operands[name]) for name in ("key_cache", "value_cache")]
    if not call.pages:
        for cache in caches:
            cache.view(np.uint8)[:, :, call.keys - call.queries : call.keys] = 0xFF
    new = [aligned(operands[n]) for n in ("query", *(() if call.packed else ("key", "value")))]
    tables = [aligned(operands[n]) for n in ("cosines", "sines") if call.rotated]
    heads = 2 * call.key_heads + (call.heads if call.rotated else 0)
    threads = call.tokens * heads * call.size // WIDTH
    source = appending_source(
        "fp32",
        (call.heads, call.key_heads, call.size),
        WIDTH,
        call.rotated,
        packed=call.packed,
        interleaved=call.interleaved,
        stored=call.stored,
        paged=call.pages is not None,
    )
    scales = [aligned(operands[n]) for n in ("key_scales", "value_scales") if call.stored]
    pointers = (
        *(new * 3)[:3],
        *(tables or new * 2)[:2],
        *(scales or new * 2)[:2],
        query,
        *caches,
    )
    where: tuple[Array | int, ...] = call.queries, call.keys, call.room
    if call.pages:
        lengths = [aligned(operands[name]) for name in ("ends", "past", "table")]
        where = *lengths, call.pages.width, call.pages.block, call.batch
    run(source, tmp_path, threads, *pointers, *where, threads)
    for found, expected in zip(caches, expected_caches, strict=True):
        if call.stored:
            found, expected = (numbers(call.stored, each) for each in (found, expected))
        np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
    if call.rotated:
        np.testing.assert_allclose(query, expected_query, 1e-5, 1e-6)
