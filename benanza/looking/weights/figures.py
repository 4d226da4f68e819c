"""Figures of many numbers, which come in parts."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Number = int | float

FIRST = 4
"""So many values are told."""


class Figures(NamedTuple):
    """Of `total` numbers, the `finite` ones' least, greatest, mean and standard deviation, which
    are None where none is; how many are zero; and the first ones.
    """

    total: int
    finite: int
    least: Number | None
    greatest: Number | None
    mean: float | None
    deviation: float | None
    zeros: int
    first: tuple[Number, ...]


def figures_of(parts: Iterable[npt.NDArray[Any]]) -> Figures:
    """The figures of all numbers in these flat arrays, of any type of NumPy's and ml_dtypes'.

    Means and squares of the parts are joined as Chan, Golub and LeVeque do ("Updating Formulae and
    a Pairwise Algorithm for Computing Sample Variances", 1979), which loses no digits to a mean
    that is far from zero.
    """
    total = finite = zeros = 0
    mean = squares = 0.0
    ends: list[Number] = []
    first: list[Number] = []
    for part in parts:
        numbers = part.astype(np.float64)
        total += len(numbers)
        zeros += len(numbers) - int(np.count_nonzero(numbers))
        # Integers of 64 bits may lose digits as floats.
        exact = part if part.dtype.kind in "iu" else numbers
        first += exact[: FIRST - len(first)].tolist() if len(first) < FIRST else []
        if part.dtype.kind not in "iu" and not (known := np.isfinite(numbers)).all():
            exact = numbers = numbers[known]
        if not len(numbers):
            continue
        ends += [exact.min().item(), exact.max().item()]
        with np.errstate(over="ignore", invalid="ignore"):
            here = float(numbers.mean())
            apart = here - mean
            together = finite + len(numbers)
            squares += float(np.square(numbers - here).sum())
            squares += apart * apart * finite * len(numbers) / together
            mean += apart * len(numbers) / together
        finite = together
    deviation = math.sqrt(squares / finite) if finite and squares < math.inf else None
    return Figures(
        total,
        finite,
        min(ends, default=None),
        max(ends, default=None),
        mean if finite and math.isfinite(mean) else None,
        deviation,
        zeros,
        tuple(first),
    )
