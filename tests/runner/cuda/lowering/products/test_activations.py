"""Activations as C, compiled, against the same in NumPy."""

from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.calls import Elementwise, Operand
from benanza_runner.cuda.lowering.products.activations import FUSED, expression
from benanza_schemas.operators.table import named
from tests.runner.cuda.in_numpy.calls import ACTIVATIONS, compute

NUMBERS: dict[str, tuple[float, ...]] = {
    "Clip": (-1.5, 2.5),
    "Elu": (0.375,),
    "HardSigmoid": (0.25, 0.625),
    "HardSwish": (0.25, 0.625),
    "LeakyRelu": (0.1,),
    "Selu": (1.6732632, 1.050701),
    "Swish": (1.5,),
}


def test_all_activations_but_one_are_known() -> None:
    """The slopes of a PRelu are an operand, and GeluTanh is a Gelu. No library computes a
    ThresholdedRelu after a product.
    """
    known = FUSED.keys() - {"", "GeluTanh"} | {"PRelu"}
    assert named(lambda facts: facts.activation) - known == {"ThresholdedRelu"}
    assert known <= named(lambda facts: facts.activation)


@pytest.mark.needs_program("cc")
@pytest.mark.parametrize("name", FUSED)
def test_every_pattern(name: str, tmp_path: Path) -> None:
    numbers = NUMBERS.get(name, ())
    value = np.linspace(-90, 90, 721)
    statement = f"float t0 = {expression(name, numbers, 'in0')};"
    call = Elementwise(value.shape, (Operand(value.shape, (0,)),), (statement,), "t0")
    found = compute(call, {"in0": value}, tmp_path)[0]
    np.testing.assert_allclose(found, ACTIVATIONS[name](value, *numbers), rtol=1e-5, atol=1e-6)
