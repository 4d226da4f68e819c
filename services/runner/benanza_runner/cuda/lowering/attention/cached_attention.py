"""Attention to a cache of keys and values: ONNX Runtime's GroupQueryAttention.

The cache is one buffer before and after, to which the new keys are appended; there may be room for
more. It may be quantised. Source: the operator's definition in ONNX Runtime.
"""

from collections.abc import Mapping
from math import sqrt

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import CachedAttention, Shape
from benanza_runner.cuda.lowering.attention.cache_scales import quantised_cache
from benanza_runner.cuda.lowering.strided import known
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

Lowering = tuple[CachedAttention, dict[str, Array], frozenset[str]]

GROUPED = "GroupQueryAttention"
"""The operator, in the domain `com.microsoft`."""

OPERANDS = ("query", "key", "value", "key_cache", "value_cache")

CACHES = ((3, 1), (4, 2))
"""The places of the caches among the inputs and the outputs."""

SCALES = ("key_scales", "value_scales")

TABLES = {"cosines": 7, "sines": 8}
"""The places of the tables among the inputs."""

WIDE = 8
"""What a thread of the kernel that appends reads at once, at most, in elements."""

BIAS, SINKS = 10, 11
"""The places of what is added to scores, and of a sink for each head."""

_REFUSED = {
    9: "position_ids",
    14: "q_norm_weight",
    15: "k_norm_weight",
}
"""Inputs by their places, with their names in ONNX Runtime."""


def lower_cached_attention(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call for GroupQueryAttention, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    inputs = (*operator.inputs, *(OMITTED,) * 16)[:16]
    _check_caches(layer, operator, inputs)
    _check_attributes(operator, inputs)
    batch, queries, width = layer.tensors[inputs[0]].shape
    _, key_heads, room, _ = layer.tensors[inputs[3]].shape
    stored = quantised_cache(layer, operator, dict(zip(SCALES, inputs[12:14], strict=True)))
    (keys,) = known(layer, operator, 6) if layer.tensors[inputs[6]].value is not None else [room]
    if not queries <= keys <= room:
        raise UnsupportedError(f"a {GROUPED} of {queries} queries and {keys} keys in {room} places")
    window = max(0, operator.integer("local_window_size", -1))
    if window and not operator.integer("causal", 1):
        raise UnsupportedError(f"a {GROUPED} with a window to both sides is not supported yet")
    heads, packed = operator.integer("num_heads"), inputs[1] == OMITTED
    size = width // (heads + 2 * key_heads * packed)
    operands = {
        name: values[index]
        for name, index in zip(OPERANDS, inputs, strict=False)
        if index != OMITTED
    }
    fixed = {name for name, index in zip(OPERANDS, inputs, strict=False) if _fixed(layer, index)}
    rotated = 0
    for name, place in TABLES.items() if operator.integer("do_rotary", 0) else ():
        table = inputs[place]
        rotated = 2 * layer.tensors[table].shape[1]
        # Of a table that the model fixes, rows behind the last key are never read.
        operands[name] = values[table][:keys] if _fixed(layer, table) else values[table]
        fixed |= {name} if _fixed(layer, table) else set()
    mask: Shape = ()
    if inputs[BIAS] != OMITTED:
        operands["mask"], mask = values[inputs[BIAS]], layer.tensors[inputs[BIAS]].shape
        if mask[2:] != (queries, keys):
            raise UnsupportedError(f"a {GROUPED} whose bias lacks keys is not supported yet")
        fixed |= {"mask"} if _fixed(layer, inputs[BIAS]) else set()
    sinks = inputs[SINKS] != OMITTED or operator.integer("smooth_softmax", 0) > 0
    if sinks:
        given = values.get(inputs[SINKS])
        operands["sinks"] = np.zeros(heads, np.float32) if given is None else given
        fixed |= {"sinks"} if given is None or _fixed(layer, inputs[SINKS]) else set()
    if stored:
        operands |= {n: values[i] for n, i in zip(SCALES, inputs[12:14], strict=True)}
        fixed |= {*SCALES}
    if size % WIDE or rotated // 2 % WIDE:
        raise UnsupportedError(f"heads that are no multiple of {WIDE} long are not supported yet")
    call = CachedAttention(
        output=layer.tensors[operator.outputs[0]].shape,
        batch=batch,
        heads=heads,
        key_heads=key_heads,
        queries=queries,
        keys=keys,
        room=room,
        size=size,
        scale=operator.number("scale", 0.0) or 1 / sqrt(size),
        causal=bool(operator.integer("causal", 1)) and queries > 1,
        packed=packed,
        results=tuple(operator.outputs.index(index) for index in layer.outputs),
        rotated=rotated,
        interleaved=bool(operator.integer("rotary_interleaved", 0)) and rotated > 0,
        mask=mask,
        window=window if window < keys else 0,
        cap=operator.number("softcap", 0.0),
        sinks=sinks,
        stored=stored,
    )
    return call, operands, frozenset(fixed)


def _fixed(layer: Layer, index: int) -> bool:
    return index != OMITTED and layer.tensors[index].constant


def _check_caches(layer: Layer, operator: Operator, inputs: tuple[int, ...]) -> None:
    """Raises `UnsupportedError` unless keys and values are appended to buffers."""
    results = (*operator.outputs, *(OMITTED,) * 3)[:3]
    if OMITTED in (*inputs[3:5], *results):
        raise UnsupportedError(f"a {GROUPED} that keeps no keys and values is not supported yet")
    if len(layer.outputs) > 3:
        raise _refused("qk_output")
    for before, after in CACHES:
        if layer.tensors[inputs[before]] != layer.tensors[results[after]]:
            raise UnsupportedError(f"a {GROUPED} that copies its cache is not supported yet")


def _check_attributes(operator: Operator, inputs: tuple[int, ...]) -> None:
    """Raises `UnsupportedError` for what no kernel here does."""
    for place, name in _REFUSED.items():
        if inputs[place] != OMITTED:
            raise _refused(name)
    if operator.integer("sliding_window_cache", 0) > 0:
        raise _refused("sliding_window_cache")


def _refused(name: str) -> UnsupportedError:
    return UnsupportedError(f"a {GROUPED} with {name} is not supported yet")
