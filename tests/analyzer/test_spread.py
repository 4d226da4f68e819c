import math

import numpy as np

from benanza_analyzer.spread import spread_us

IQR_US = np.array([0.0, 3.0, 4.0, math.inf])


def spread(*numbers: int) -> float:
    layers = np.array(numbers, np.int32)
    return spread_us(layers, IQR_US[layers])


def test_the_same_layer_adds_up() -> None:
    assert spread(1, 1, 1) == 9.0


def test_different_layers_add_in_quadrature() -> None:
    assert spread(1, 2) == 5.0
    assert spread(1, 2, 1, 2) == 10.0
    assert math.isclose(spread(1, 1, 2), math.sqrt(6**2 + 4**2))


def test_layers_without_a_time_have_no_part() -> None:
    assert spread(3, 1, 0) == 3.0
    assert spread(3) == 0.0
    assert spread() == 0.0
