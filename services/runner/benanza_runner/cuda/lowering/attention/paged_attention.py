"""Attention to keys in blocks of a cache: ONNX Runtime's PagedAttention.

Lengths of sequences are inputs, which a graph doesn't fix: `paged_lengths` says how long they are
taken to be. Source: the operator's definition in ONNX Runtime.
"""

from collections.abc import Mapping
from math import sqrt

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import CachedAttention, Pages
from benanza_runner.cuda.lowering.attention.cache_scales import quantised_cache
from benanza_runner.cuda.lowering.attention.cached_attention import (
    OPERANDS,
    SCALES,
    TABLES,
    WIDE,
    Lowering,
)
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.pages import paged_lengths

PAGED = "PagedAttention"
"""The operator, in the domain `com.microsoft`."""

_LENGTHS = {"ends": 5, "past": 6, "table": 7}
_TABLES = {name: place + 1 for name, place in TABLES.items()}
_SINKS = 11
_SCALES = dict(zip(SCALES, (14, 15), strict=True))

_REFUSED = {
    10: "slot_mapping",
    12: "q_norm_weight",
    13: "k_norm_weight",
}
"""Inputs by their places, with their names in ONNX Runtime."""


def lower_paged_attention(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call for PagedAttention, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    inputs = (*operator.inputs, *(OMITTED,) * 17)[:17]
    _check(layer, operator, inputs)
    tokens, width = layer.tensors[inputs[0]].shape
    cache, table = (layer.tensors[inputs[place]].shape for place in (3, _LENGTHS["table"]))
    lengths = paged_lengths(tokens, cache, table)
    queries = max(lengths.queries(), default=0)
    if not queries <= lengths.keys:
        raise UnsupportedError(f"a {PAGED} of {queries} new keys and room for {lengths.keys}")
    stored = quantised_cache(layer, operator, {n: inputs[at] for n, at in _SCALES.items()})
    heads, key_heads, packed = operator.integer("num_heads"), cache[2], inputs[1] == OMITTED
    size = width // (heads + 2 * key_heads * packed)
    read = {name: inputs[place] for place, name in enumerate(OPERANDS)}
    read |= {name: inputs[place] for name, place in _LENGTHS.items()}
    rotated = 0
    if operator.integer("do_rotary", 0):
        read |= {name: inputs[place] for name, place in _TABLES.items()}
        rotated = 2 * layer.tensors[inputs[_TABLES["cosines"]]].shape[1]
    read |= {"sinks": inputs[_SINKS]}
    read |= {name: inputs[place] for name, place in _SCALES.items()}
    read = {name: index for name, index in read.items() if index != OMITTED}
    if size % WIDE or rotated // 2 % WIDE:
        raise UnsupportedError(f"heads that are no multiple of {WIDE} long are not supported yet")
    window = max(0, operator.integer("local_window_size", -1))
    call = CachedAttention(
        output=layer.tensors[operator.outputs[0]].shape,
        batch=table[0],
        heads=heads,
        key_heads=key_heads,
        queries=queries,
        keys=lengths.keys,
        room=0,
        size=size,
        scale=operator.number("scale", 0.0) or 1 / sqrt(size),
        causal=bool(operator.integer("is_causal", 1)) and queries > 1,
        packed=packed,
        results=tuple(operator.outputs.index(index) for index in layer.outputs),
        rotated=rotated,
        interleaved=bool(operator.integer("rotary_interleaved", 0)) and rotated > 0,
        window=window if window < lengths.keys else 0,
        cap=operator.number("softcap", 0.0),
        sinks=inputs[_SINKS] != OMITTED,
        stored=stored,
        pages=Pages(tokens, cache[1], table[1]),
    )
    # Lengths are those that were taken, also where a model computes some of its own.
    weights = {name for name, index in read.items() if layer.tensors[index].constant}
    weights |= {*_LENGTHS}
    return call, {name: values[index] for name, index in read.items()}, frozenset(weights)


def _check(layer: Layer, operator: Operator, inputs: tuple[int, ...]) -> None:
    """Raises `UnsupportedError` for what no kernel here does."""
    for place, name in _REFUSED.items():
        if inputs[place] != OMITTED:
            raise _refused(name)
    if operator.text("kv_cache_layout", "SEPARATE") != "SEPARATE" or inputs[4] == OMITTED:
        raise _refused("one cache for keys and values")
    if len(layer.outputs) < 3:
        raise _refused("a cache that it doesn't return")
    if operator.integer("rotary_offset", 0):
        raise _refused("rotary_offset")
    if operator.integer("local_window_size", -1) > 0 and not operator.integer("is_causal", 1):
        raise _refused("a window to the left alone")


def _refused(name: str) -> UnsupportedError:
    return UnsupportedError(f"a {PAGED} with {name} is not supported yet")
