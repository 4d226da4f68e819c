"""The roofline: the least time of a layer by the system's measured ceilings alone.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", 2009.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_analyzer.models.catalogue import Catalogue
from benanza_schemas.layer import Precision

MICROSECONDS = 1e6

BYTES_KEPT: dict[Precision, float] = {"fp32": 1.0, "tf32": 1.0, "fp16": 0.5, "bf16": 0.5}
"""The least share of a layer's bytes that is moved at a precision.

Bytes are counted at the model's own types; 16 bits halve what was 32. Integers, and floats of 16
bits in the model, are then counted at half, so that the roofline is still a lower bound.
"""


class PlatformCeilings(NamedTuple):
    """The highest measured rates of a platform: bytes per second, operations per second."""

    bandwidth: float
    flops: float


def roofline_us(
    numbers: npt.NDArray[np.int32],
    catalogue: Catalogue,
    ceilings: PlatformCeilings,
    precision: Precision,
) -> float:
    """The sum over these layers of the larger of bytes / bandwidth and operations / rate, in
    microseconds.

    A layer counts as often as `numbers` has its number; `NOTHING` counts zero.
    """
    bytes_moved = np.frombuffer(catalogue.bytes)[numbers] * BYTES_KEPT[precision]
    flops = np.frombuffer(catalogue.flops)[numbers]
    seconds = np.maximum(bytes_moved / ceilings.bandwidth, flops / ceilings.flops)
    return math.fsum(seconds.tolist()) * MICROSECONDS
