"""Floats of a quantised cache, as NumPy makes them."""

from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.calls import CachedAttention
from benanza_runner.cuda.kernels.source.attention.expanding import expanding_source
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from tests.runner.cuda.in_numpy.attention import numbers
from tests.runner.cuda.kernels.source.on_the_cpu import aligned, run
from tests.runner.cuda.layers.own import CODES, grouped

pytestmark = pytest.mark.integration

WIDTH = 4


@pytest.mark.parametrize("by_channel", [True, False])
@pytest.mark.parametrize("stored", CODES.values())
def test_all_keys_become_floats(stored: str, by_channel: bool, tmp_path: Path) -> None:
    layer = grouped(2, 3, 9, total=7, stored=stored, by_channel=by_channel)
    call, operands, _ = lower(layer, random_inputs(layer, "fp32"))
    assert isinstance(call, CachedAttention)
    assert call.stored
    shape = call.batch, call.key_heads, call.keys, call.size
    floats = [aligned(np.full(shape, np.nan)) for _ in range(2)]
    source = expanding_source("fp32", call.size, WIDTH, call.stored)
    names = ("key_cache", "value_cache", "key_scales", "value_scales")
    given = [aligned(operands[name]) for name in names]
    threads = floats[0].size // WIDTH
    lengths = call.key_heads, call.keys, call.room, threads
    run(source, tmp_path, 2 * threads, *given, *floats, *lengths)
    for name, found in zip(("key", "value"), floats, strict=True):
        expected = numbers(call.stored, operands[f"{name}_cache"])[:, :, : call.keys]
        expected = expected * operands[f"{name}_scales"]
        np.testing.assert_allclose(found, expected, 1e-6)
