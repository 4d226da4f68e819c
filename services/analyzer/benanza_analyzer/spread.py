"""The spread of a bound from the spreads of its measurements."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt


def spread_us(numbers: npt.NDArray[np.integer[Any]], iqr_us: npt.NDArray[np.float64]) -> float:
    """The spread of the sum of these layers' times, in microseconds.

    `iqr_us` holds the interquartile ranges of the layers in `numbers`, in the same order. A layer
    that occurs several times was measured once, and its error is the same each time: its
    contributions add up. Different layers were measured separately: their contributions add in
    quadrature, as the root of the sum of (count x interquartile range) squared. Layers without a
    time, whose `iqr_us` is infinite, don't count.
    """
    _, places, counts = np.unique(numbers, return_index=True, return_counts=True)
    spreads = counts * iqr_us[places]
    return math.hypot(*spreads[np.isfinite(spreads)].tolist())
