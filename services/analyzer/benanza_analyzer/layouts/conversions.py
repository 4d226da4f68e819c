"""What the layout conversions of a plan take, where the layouts of its calls are known.

A value that is read in another layout than it was written in is converted, once for all its readers
in that layout. Between two layouts other than channels first, it is converted to that on the way.
"""

import numpy as np
import numpy.typing as npt

from benanza_analyzer.measurements import FIRST
from benanza_analyzer.models.contraction import Positions

Floats = npt.NDArray[np.float64]
Layouts = npt.NDArray[np.intp]
"""Layouts as places in `measurements.SELECTIONS`, of each call."""


def conversions_us(
    layouts: Layouts, read: Layouts, converting_us: Floats, sources: Positions, targets: Positions
) -> Floats:
    """The time of converting what each call writes, in microseconds.

    Calls write in `layouts` and read in those of `read`. `converting_us` holds what converting a
    call's result takes between channels first and each of `SELECTIONS`, zero for channels first.
    Edges lead from calls in `sources` to their readers in `targets`.
    """
    differ = layouts[sources] != read[targets]
    sources, targets = sources[differ], targets[differ]
    used = np.zeros(converting_us.shape, np.bool_)
    used[layouts[sources], sources] = True
    used[read[targets], sources] = True
    used[FIRST] = False
    found: Floats = np.where(used, converting_us, 0.0).sum(axis=0)
    return found


def between_us(
    layouts: Layouts, read: Layouts, converting_us: Floats, sources: Positions, targets: Positions
) -> Floats:
    """The time of the layout conversions between each of these calls and its reader, likewise."""
    differ = layouts[sources] != read[targets]
    taken_us = converting_us[layouts[sources], sources] + converting_us[read[targets], sources]
    found: Floats = np.where(differ, taken_us, 0.0)
    return found
