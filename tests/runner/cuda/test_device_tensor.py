"""Tensors on the device, with NumPy's arrays in the place of CuPy's."""

import numpy as np
import pytest

from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.device_tensor import AppendedTensor
from benanza_schemas.layer import Precision


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_only_what_a_call_writes_of_a_cache_is_poisoned(precision: Precision) -> None:
    order = (0, 1, 2, 3)
    ones = DeviceMemory(np).copied(np.ones((2, 3, 5, 8), np.float32), order, precision)
    cache = AppendedTensor(ones.array, order, precision, new=(..., slice(2, 4), slice(None)))
    cache.poison()
    unknown = np.isnan(cache.floats())
    assert unknown[:, :, 2:4].all()
    assert not unknown[:, :, (0, 1, 4)].any()
