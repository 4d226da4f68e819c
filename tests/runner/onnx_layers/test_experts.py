"""Mixtures of experts in NumPy are those of ONNX Runtime, where it runs them."""

import numpy as np
import onnxruntime as ort
import pytest

from benanza_runner.cuda.reference import CpuLayer
from benanza_runner.onnx_layers.experts import is_mixture, mixture
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.session import CPU, session_options
from tests.runner.cuda.layers.experts import KNOWN, MIXTURES
from tests.runner.layers import conv_group


@pytest.mark.parametrize("name", list(KNOWN))
def test_it_is_that_of_onnx_runtime(name: str) -> None:
    made = layer_model(KNOWN[name])
    options = session_options(made.constants, CPU, 1)
    content = made.proto.SerializeToString()
    session = ort.InferenceSession(content, options, providers=[CPU.name])
    (expected,) = session.run(None, made.inputs)
    given = {int(n.removeprefix("t")): a for n, a in (made.constants | made.inputs).items()}
    np.testing.assert_allclose(mixture(KNOWN[name], given), expected, 1e-4, 1e-5)


def test_a_third_product_is_the_linear_factor_of_swiglu() -> None:
    """So it is the second half of one product."""
    apart, halves = (
        MIXTURES[f"experts with swiglu in {how}"] for how in ("two products", "halves")
    )
    made = layer_model(apart)
    given = {int(n.removeprefix("t")): a for n, a in (made.constants | made.inputs).items()}
    x, router, first, second, third = (given[i] for i in apart.operators[0].inputs if i in given)
    joined = np.concatenate((first, third), axis=1)
    wide, down = np.zeros(joined.shape[:2]), np.zeros((len(second), second.shape[1]))
    order = [x, router, joined, wide, second, down]
    as_one = dict(zip(halves.operators[0].inputs, order, strict=True))
    np.testing.assert_allclose(mixture(apart, given), mixture(halves, as_one), 1e-4, 1e-6)


def test_a_layer_on_the_cpu_is_the_mixture() -> None:
    layer = MIXTURES["packed experts of eight bits"]
    made = layer_model(layer)
    given, inputs = (
        {int(n.removeprefix("t")): a for n, a in arrays.items()}
        for arrays in (made.constants, made.inputs)
    )
    (found,) = CpuLayer(layer, given, "fp32", 1).results(inputs)
    np.testing.assert_array_equal(found, mixture(layer, given | inputs))


def test_other_layers_are_none() -> None:
    assert not is_mixture(conv_group(8, 6, "Relu"))
