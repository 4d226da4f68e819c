"""Attention to kept keys and values in NumPy, for what ONNX Runtime's CPU doesn't run.

That are caches in float8. Where there is room for more keys than count, it leaves zeros there,
while a buffer in place keeps what it has. Source: the operator's definition in ONNX Runtime.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

import ml_dtypes
import numpy as np

from benanza_runner.arrays import Array
from benanza_schemas.layer import OMITTED, Layer, Operator

_DOMAIN, _GROUPED = "com.microsoft", "GroupQueryAttention"

_CACHES = ((3, 1), (4, 2))
"""The places of caches of keys and of values among inputs and outputs."""

_SCALES = (12, 13)


def is_grouped(layer: Layer) -> bool:
    """Whether a layer is a GroupQueryAttention alone."""
    first = layer.operators[0]
    return len(layer.operators) == 1 and (first.domain, first.op_type) == (_DOMAIN, _GROUPED)


def is_in_float8(layer: Layer) -> bool:
    """Whether a layer is one whose cache is in float8."""
    if not is_grouped(layer):
        return False
    cache = layer.operators[0].inputs[_CACHES[0][0] : _CACHES[0][0] + 1]
    return any(i != OMITTED and layer.tensors[i].dtype == "float8e4m3fn" for i in cache)


def in_place(layer: Layer, values: Mapping[int, Array], outputs: list[Array]) -> list[Array]:
    """The outputs of a layer, with what caches held before in the room behind all keys."""
    if not is_grouped(layer):
        return outputs
    (operator,) = layer.operators
    inputs, kept = operator.inputs, list(outputs)
    for before, after in _CACHES:
        if len(operator.outputs) <= after or operator.outputs[after] not in layer.outputs:
            continue
        number = layer.outputs.index(operator.outputs[after])
        if inputs[before] == OMITTED or values[inputs[before]].shape != kept[number].shape:
            continue
        total = int(values[inputs[6]].max())
        kept[number] = kept[number].copy()
        kept[number][:, :, total:] = values[inputs[before]][:, :, total:]
    return kept


def grouped(layer: Layer, values: Mapping[int, Array]) -> list[Array]:
    """The outputs of a GroupQueryAttention with a cache in float8, which is as long before as
    after, for inputs by position: floats in float32.
    """
    (operator,) = layer.operators
    given = {
        place: values[index] for place, index in enumerate(operator.inputs) if index != OMITTED
    }
    heads, of_keys = operator.integer("num_heads"), operator.integer("kv_num_heads")
    batch, queries, _ = given[0].shape
    total = int(given[6].max())
    places = np.arange(total - queries, total)
    query, key, value = _by_head(given, (heads, of_keys, of_keys))
    if operator.integer("do_rotary", 0):
        query, key = (_rotated(operator, given, rows, places) for rows in (query, key))
    caches = [given[place].copy() for place, _ in _CACHES]
    kept = []
    for cache, rows, scale in zip(caches, (key, value), _SCALES, strict=True):
        codes = np.clip(rows / given[scale], -448, 448).astype(ml_dtypes.float8_e4m3fn)
        cache[:, :, total - queries : total] = codes
        kept.append(cache[:, :, :total].astype(np.float32) * given[scale])
    found = np.empty((batch, queries, heads * query.shape[-1]), np.float32)
    for number in range(batch):
        bias = given.get(10)
        mine = None if bias is None else bias[number % len(bias)]
        of_one = (query[number], kept[0][number], kept[1][number])
        result = _attended(operator, of_one, places, mine, given.get(11))
        found[number] = result.swapaxes(0, 1).reshape(queries, -1)
    results = dict(zip(operator.outputs, (found, *caches), strict=False))
    return [results[index] for index in layer.outputs]


def _by_head(given: Mapping[int, Array], counts: Sequence[int]) -> list[Array]:
    """Queries, keys and values by batch, head, token and column."""
    parts = [given[place] for place in range(3) if place in given]
    if len(parts) == 1:
        size = parts[0].shape[-1] // sum(counts)
        parts = np.split(parts[0], np.cumsum(counts)[:2] * size, axis=-1)
    return [
        rows.reshape(*rows.shape[:2], count, -1).swapaxes(1, 2)
        for rows, count in zip(parts, counts, strict=True)
    ]


def _rotated(
    operator: Operator, given: Mapping[int, Array], rows: Array, places: Array
) -> Array:
    """Rows by batch, head, token and column, in pairs of columns, at these places."""
    cosines, sines = (given[table][places] for table in (7, 8))
    half = cosines.shape[-1]
    turned = rows.copy()
    if operator.integer("rotary_interleaved", 0):
        first, second = slice(0, 2 * half, 2), slice(1, 2 * half, 2)
    else:
        first, second = slice(0, half), slice(half, 2 * half)
    turned[..., first] = rows[..., first] * cosines - rows[..., second] * sines
    turned[..., second] = rows[..., second] * cosines + rows[..., first] * sines
    return turned


def _attended(
    operator: Operator,
    rows: tuple[Array, Array, Array],
    places: Array,
    bias: Array | None,
    sinks: Array | None,
) -> Array:
    """Of queries, keys and values by head, token and column; queries have these places."""
    query, key, value = rows
    heads, _, size = query.shape
    shared = heads // len(key)
    scale = operator.number("scale", 0.0) or 1 / sqrt(size)
    scores = scale * (query @ np.repeat(key, shared, 0).swapaxes(1, 2))
    if cap := operator.number("softcap", 0.0):
        scores = cap * np.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias
    keys, own = np.arange(key.shape[1]), places[:, None]
    if operator.integer("causal", 1):
        scores = np.where(keys > own, -np.inf, scores)
    if (window := operator.integer("local_window_size", -1)) > 0:
        scores = np.where(keys <= own - window, -np.inf, scores)
    most = scores.max(-1, keepdims=True)
    if sinks is None and operator.integer("smooth_softmax", 0) > 0:
        sinks = np.zeros(heads, np.float32)
    if sinks is not None:
        most = np.maximum(most, sinks[:, None, None])
    powers = np.exp(scores - most)
    sums = powers.sum(-1, keepdims=True)
    if sinks is not None:
        sums = sums + np.exp(sinks[:, None, None] - most)
    return np.asarray(powers / sums @ np.repeat(value, shared, 0))
