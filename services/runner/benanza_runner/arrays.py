"""Arrays of the host."""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
"""A NumPy array of any element type; those that NumPy lacks are of ml_dtypes."""
