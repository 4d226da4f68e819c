"""Floats of all keys and values of a quantised cache, for what attends to floats alone.

Many queries read each key so often that they need not make floats of it each time.
"""

from functools import cache
from typing import Any

import cupy
import numpy as np
from msgspec.structs import replace

from benanza_runner.cuda.calls import Attention, CachedAttention, QuantisedCache
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.launching import WIDE_BYTES, launch
from benanza_runner.cuda.kernels.source.attention.expanding import expanding_source
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

THREADS = 128


def is_expanded(call: CachedAttention) -> bool:
    """Whether a call has a quantised cache in a row, and several queries."""
    return call.stored is not None and call.pages is None and call.queries > 1


def in_floats(call: CachedAttention) -> Attention:
    """The attention of such a call to floats, behind which no room is left."""
    return replace(call, stored=None, room=call.keys).attention()


def expanding(
    workspace: Workspace, call: CachedAttention, *caches: DeviceTensor
) -> tuple[Run, list[DeviceTensor]]:
    """What makes floats of the caches of keys and of values, and these floats."""
    assert call.stored, "floats need not be expanded"
    shape = call.batch, call.key_heads, call.keys, call.size
    floats = [workspace.memory.empty(shape, (0, 1, 2, 3), workspace.precision) for _ in caches]
    scales = [workspace.exact(name).array for name in ("key_scales", "value_scales")]
    width = WIDE_BYTES // PRECISIONS[workspace.precision].bytes
    threads = floats[0].array.size // width
    arguments = (
        *(each.array for each in caches),
        *scales,
        *(each.array for each in floats),
        *map(np.uint32, (call.key_heads, call.keys, call.room, threads)),
    )
    kernel = _kernel(workspace.precision, call.size, width, call.stored)
    return launch(kernel, -(-2 * threads // THREADS), THREADS, arguments), floats


@cache
def _kernel(precision: Precision, size: int, width: int, stored: QuantisedCache) -> Any:
    return cupy.RawKernel(expanding_source(precision, size, width, stored), "expand")
