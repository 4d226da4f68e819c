"""Memory for the candidates of a call."""

import numpy as np
import pytest

from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.onnx_layers.precision import retyped
from tests.runner.cuda.layers.products import PRODUCTS


def workspace(sample: str) -> Workspace:
    layer = retyped(PRODUCTS[sample], "fp32")
    return Workspace(lower(layer, random_inputs(layer, "fp32")), "fp32", DeviceMemory(np))


@pytest.mark.parametrize(
    ("sample", "name", "shape", "order"),
    [
        ("gemm with rows of odd length", "b", (64, 33), (1, 0)),
        ("gemm with rows of odd length", "bias", (33,), (0,)),
        ("conv to an odd number of channels", "filter", (33, 16, 1, 1), (0, 2, 3, 1)),
        ("conv of one axis to an odd number of channels", "filter", (33, 16, 1, 1), (0, 2, 3, 1)),
    ],
)
def test_weights_with_more_columns(
    sample: str, name: str, shape: tuple[int, ...], order: tuple[int, ...]
) -> None:
    found = workspace(sample)
    padded = found.padded(name, shape, order, 36).array
    alone = found.operand(name).array.reshape(shape).transpose(order)
    assert padded.shape == (36, *alone.shape[1:])
    np.testing.assert_array_equal(padded[:33], alone)
    assert not padded[33:].any()
    assert found.padded(name, shape, order, 36).array is padded


def test_weights_are_laid_out_once() -> None:
    found = workspace("gemm with rows of odd length")
    turned = found.laid_out("b", lambda arrays, b: arrays.ascontiguousarray(b.T))
    np.testing.assert_array_equal(turned.array, found.operand("b").array.T)
    assert found.laid_out("b", lambda arrays, b: arrays.ascontiguousarray(b.T)) is turned
    assert found.laid_out("b", lambda arrays, b: arrays.ascontiguousarray(b), 1) is not turned
