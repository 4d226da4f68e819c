"""Layouts are converted as NumPy would."""

import numpy as np
import pytest

from benanza_runner.cuda.layouts import feature_map_layouts
from benanza_runner.runtime import Runtime
from benanza_schemas.layer import Precision


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize(
    "shape", [(1, 3, 224, 224), (2, 64, 7, 7), (3, 33, 31, 1), (2, 40, 70), (1, 5, 3, 4, 6)]
)
@pytest.mark.parametrize("back", [False, True])
def test_a_converted_feature_map_is_the_same_feature_map(
    cuda: Runtime, shape: tuple[int, ...], precision: Precision, back: bool
) -> None:
    import cupy

    from benanza_runner.cuda.device_memory import DeviceMemory
    from benanza_runner.cuda.kernels.layout_conversion import layout_conversion

    orders = [order for _, order in feature_map_layouts(len(shape))]
    source_order, target_order = reversed(orders) if back else orders
    x = np.random.default_rng(1).random(shape, np.float32)
    memory = DeviceMemory(cupy)
    source = memory.copied(x, source_order, precision)
    target = memory.empty(shape, target_order, precision)
    target.poison()
    layout_conversion(source, target)()
    assert (target.floats() == source.floats()).all()
