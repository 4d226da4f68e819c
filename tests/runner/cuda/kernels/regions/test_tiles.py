"""Threads that compute several neighbours. `in_numpy/calls.py` compares what they compute."""

import numpy as np
import pytest

from benanza_runner.cuda.calls.region import Given
from benanza_runner.cuda.kernels.regions.kernel import KernelWriter
from benanza_runner.cuda.kernels.regions.section import RegionResult
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.lowering.regions.as_region import as_region
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.layer import Layer
from tests.runner.cuda.layers.regions import region
from tests.runner.layers import floats, single, weights

WINDOWS = single(
    "Conv",
    1,
    (floats(1, 16, 6, 8), weights(16, 1, 3, 3)),
    (floats(1, 16, 6, 8),),
    group=16,
    kernel_shape=(3, 3),
    pads=(1, 1, 1, 1),
)
SUM = region(
    "float[1,16,6,8] x, float[1,16,8,6] z",
    "y",
    "t = Transpose<perm=[0,1,3,2]>(z) s = Add(x, t) y = Relu(s)",
)
MEANS = region(
    "float[1,16,6,8] x", "y", "m = ReduceMean<keepdims=1>(x, a) y = Sub(x, m)", ", int64[1] a = {3}"
)


def writer(layer: Layer) -> KernelWriter:
    """Feature maps have their channels first."""
    layer = retyped(layer, "fp32")
    lowered = lower(layer, random_inputs(layer, "fp32"))
    call = as_region(lowered.call, lowered.computed())
    assert call is not None
    strides = {}
    for value in call.values:
        if isinstance(value, Given):
            order = value.order or tuple(range(len(value.shape)))
            lying = np.empty([value.shape[axis] for axis in order], np.int8)
            strides[value.name] = lying.transpose(np.argsort(order)).strides
    natural = tuple(range(len(call.values[call.outputs[0]].shape)))
    return KernelWriter(call, strides, [RegionResult(call.outputs[0], natural)], "fp32")


@pytest.mark.parametrize(("tile", "loads"), [(1, 9 + 9), (2, 4 * 3 + 9), (3, 5 * 3 + 9)])
def test_neighbours_share_what_their_windows_load(tile: int, loads: int) -> None:
    """Rows of six are tiled: of a window of 3 x 3, a row more for each further result."""
    found = writer(WINDOWS).written(1, tile)
    assert found.loads == loads
    (section,) = found.sections
    assert section.packs * tile == 16 * 6 * 8


def test_without_windows_nothing_is_shared() -> None:
    assert writer(SUM).written(4, 2).loads == 2 * writer(SUM).written(4).loads


@pytest.mark.parametrize(("layer", "tile"), [(WINDOWS, 4), (WINDOWS, 5), (MEANS, 2)])
def test_what_tiles_don_t_fit_has_none(layer: Layer, tile: int) -> None:
    """Neither lengths that don't divide an axis, nor rows of a reduction."""
    assert writer(layer).written(1, tile).text == writer(layer).written(1).text
