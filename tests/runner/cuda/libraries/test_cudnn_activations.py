"""What activations are made of for cuDNN's graph is right, with its operations done in NumPy."""

from functools import partial

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Matrices, Product
from benanza_runner.cuda.libraries.cudnn_activations import activated
from benanza_runner.cuda.lowering.products.activations import SIXTH
from benanza_runner.cuda.unsupported import UnsupportedError
from tests.runner.cuda.in_numpy.calls import ACTIVATIONS

VALUE = np.linspace(-6, 6, 96).reshape(6, 16)
SLOPE = np.linspace(-0.5, 2, 16)
NUMBERS: dict[str, tuple[float, ...]] = {
    "Clip": (-1.5, 2.5),
    "Elu": (0.375,),
    "HardSigmoid": (0.25, 0.625),
    "HardSwish": (SIXTH, 0.5),
    "LeakyRelu": (0.1,),
    "Selu": (1.6732632, 1.050701),
    "Swish": (1.5,),
}


class NumpyGraph:
    """Pointwise operations with the names and arguments that the frontend gives them."""

    add, mul, sub, tanh = np.add, np.multiply, np.subtract, np.tanh
    sigmoid = staticmethod(ACTIVATIONS["Sigmoid"])
    softplus = staticmethod(ACTIVATIONS["Softplus"])
    gelu = staticmethod(ACTIVATIONS["Gelu"])
    gelu_approx_tanh = staticmethod(ACTIVATIONS["GeluTanh"])
    elu = staticmethod(partial(ACTIVATIONS["Elu"], alpha=1.0))

    @staticmethod
    def relu(input: Array, lower_clip: float = 0.0, upper_clip: float = np.inf) -> Array:
        return np.clip(input, lower_clip, upper_clip)

    @staticmethod
    def leaky_relu(input: Array, negative_slope: float) -> Array:
        return np.where(input > 0, input, negative_slope * input)

    @staticmethod
    def swish(input: Array, swish_beta: float) -> Array:
        return np.asarray(ACTIVATIONS["Swish"](input, swish_beta))


def done(name: str, numbers: tuple[float, ...]) -> Array:
    a, b, result = Matrices(1), Matrices(16), Matrices(16)
    call = Product((6, 16), 1, 6, 16, 1, a, b, result, activation=name, numbers=numbers)
    operands = {"slope": SLOPE}
    return np.asarray(activated(NumpyGraph, VALUE, call, operands.__getitem__, np.float64))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation(name: str) -> None:
    numbers = NUMBERS.get(name, ())
    slopes = (SLOPE,) if name == "PRelu" else ()
    expected = ACTIVATIONS[name](VALUE, *numbers, *slopes)
    np.testing.assert_allclose(done(name, numbers), expected, rtol=1e-12, atol=1e-12)


def test_elu_as_the_library_has_it() -> None:
    np.testing.assert_allclose(done("Elu", (1.0,)), ACTIVATIONS["Elu"](VALUE, 1.0))


def test_what_it_lacks_has_a_reason() -> None:
    with pytest.raises(UnsupportedError, match="no ThresholdedRelu"):
        done("ThresholdedRelu", (1.0,))
