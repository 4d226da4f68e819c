"""The roofline: what the system's measured ceilings alone say that a layer must take.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", 2009.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_analyzer.catalogue import Catalogue
from benanza_schemas.layer import Precision

MICROSECONDS = 1e6

BYTES_KEPT: dict[Precision, float] = {"fp32": 1.0, "tf32": 1.0, "fp16": 0.5, "bf16": 0.5}
"""The least part of a layer's bytes that moves at a precision.

Bytes are counted at the model's own types; 16 bits halve what was 32. Integers, and floats
that are of 16 bits already, are thereby counted at half, which errs to the side of a bound.
"""


class Ceilings(NamedTuple):
    """What a system reaches at one precision: bytes per second, operations per second."""

    bandwidth: float
    flops: float


def roofline_us(
    numbers: npt.NDArray[np.int32], catalogue: Catalogue, ceilings: Ceilings, precision: Precision
) -> float:
    """The sum over these layers of the larger of bytes / bandwidth and operations / rate.

    Each counts as often as its number stands; `NOTHING` counts nothing.
    """
    bytes_moved = np.frombuffer(catalogue.bytes)[numbers] * BYTES_KEPT[precision]
    flops = np.frombuffer(catalogue.flops)[numbers]
    seconds = np.maximum(bytes_moved / ceilings.bandwidth, flops / ceilings.flops)
    return math.fsum(seconds.tolist()) * MICROSECONDS
