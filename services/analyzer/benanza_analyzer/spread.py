"""How the spreads of measurements add up to the spread of a bound."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt


def spread_us(numbers: npt.NDArray[np.integer[Any]], iqr_us: npt.NDArray[np.float64]) -> float:
    """The spread of the sum of these layers' times, each as often as its number stands. The
    interquartile ranges are those of the layers in the same order.

    The same layer is one measurement, however often it stands: an error in it is the same
    error each time, so its contributions add up. Different layers were measured apart, so
    theirs add in quadrature: the root of the sum of (count x interquartile range) squared.
    Layers without a time, whose `iqr_us` is infinite, have no part in it.
    """
    _, places, counts = np.unique(numbers, return_index=True, return_counts=True)
    spreads = counts * iqr_us[places]
    return math.hypot(*spreads[np.isfinite(spreads)].tolist())
