"""Rows moved together, after a call that padded them."""

from functools import cache
from typing import Any

import cupy
import numpy as np

from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.launching import WIDE_BYTES, WORDS, launch
from benanza_runner.cuda.kernels.source.unpadding import unpadding_source

THREADS = 256


def unpad(source: DeviceTensor, target: DeviceTensor) -> Run:
    """What starts the copy of the first elements of each row of `source`, which has two axes, so
    many that they fill `target`.
    """
    rows, padded = source.array.shape
    size = source.element_bytes
    pack = WIDE_BYTES // size
    total = target.array.size
    arguments = (
        source.array,
        target.array,
        np.uint32(total),
        np.uint32(total // rows),
        np.uint32(padded),
    )
    return launch(
        _unpadding(WORDS[size], pack),
        -(-total // (THREADS * pack)),
        THREADS,
        arguments,
    )


@cache
def _unpadding(word: str, pack: int) -> Any:
    return cupy.RawKernel(unpadding_source(word, pack), "unpad")
