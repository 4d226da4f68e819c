"""Attention to kept keys and values in NumPy, for what ONNX Runtime's CPU doesn't run.

That are caches in float8, and in blocks. Where there is room for more keys than count, it leaves
zeros there, while a buffer in place keeps what it has. Source: the operators' definitions in ONNX
Runtime.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import LayerModelError
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.pages import paged_lengths

_DOMAIN, _GROUPED, _PAGED = "com.microsoft", "GroupQueryAttention", "PagedAttention"

_CACHES = ((3, 1), (4, 2))
"""The places of caches of keys and of values among inputs and outputs."""


class _Places(NamedTuple):
    """Of an operator's inputs, and the attribute that says whether it is causal."""

    cosines: int
    sines: int
    bias: int
    sinks: int
    scales: tuple[int, int]
    causal: str


_OF_GROUPED = _Places(7, 8, 10, 11, (12, 13), "causal")
_OF_PAGED = _Places(8, 9, OMITTED, 11, (14, 15), "is_causal")


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


def is_paged(layer: Layer) -> bool:
    """Whether a layer is a PagedAttention alone."""
    first = layer.operators[0]
    return len(layer.operators) == 1 and (first.domain, first.op_type) == (_DOMAIN, _PAGED)


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
    """The outputs of a GroupQueryAttention with a cache that is as long before as after, for inputs
    by position: floats in float32. Raises `LayerModelError` for other caches.
    """
    _check_caches(layer)
    operator, given = _given(layer, values)
    heads, of_keys = operator.integer("num_heads"), operator.integer("kv_num_heads")
    batch, queries, _ = given[0].shape
    total = int(given[6].max())
    places = np.arange(total - queries, total)
    query, key, value = _by_head(given, (heads, of_keys, of_keys))
    if operator.integer("do_rotary", 0):
        tables = [given[table][places] for table in _OF_GROUPED[:2]]
        query, key = (_rotated(operator, tables, rows) for rows in (query, key))
    caches = [given[place].copy() for place, _ in _CACHES]
    kept = []
    for cache, rows, scale in zip(caches, (key, value), _OF_GROUPED.scales, strict=True):
        by_head = given.get(scale, np.float32(1))
        cache[:, :, total - queries : total] = _coded(rows / by_head, cache.dtype)
        kept.append(_numbers(cache[:, :, :total]) * by_head)
    found = np.empty((batch, queries, heads * query.shape[-1]), np.float32)
    for number in range(batch):
        bias = given.get(_OF_GROUPED.bias)
        mine = None if bias is None else bias[number % len(bias)]
        of_one = (query[number], kept[0][number], kept[1][number])
        sinks = given.get(_OF_GROUPED.sinks)
        result = _attended(operator, of_one, places, mine, sinks, _OF_GROUPED.causal)
        found[number] = result.swapaxes(0, 1).reshape(queries, -1)
    results = dict(zip(operator.outputs, (found, *caches), strict=False))
    return [results[index] for index in layer.outputs]


def paged(layer: Layer, values: Mapping[int, Array]) -> list[Array]:
    """The outputs of a PagedAttention with two caches, for inputs by position: floats in float32.
    Scales are one, or by head and column, with an axis of one between them. Raises
    `LayerModelError` for other caches, and for those without room for all tokens.
    """
    _check_caches(layer)
    operator, given = _given(layer, values)
    lengths = paged_lengths(len(given[0]), given[3].shape, given[7].shape)
    if not 0 < max(lengths.queries(), default=0) <= lengths.keys:
        raise LayerModelError(f"{layer.title()} has no room in its cache for all new keys")
    heads, of_keys = operator.integer("num_heads"), operator.integer("kv_num_heads")
    ends, past, table = (given[place].astype(np.int64) for place in (5, 6, 7))
    rows_of = {place: given[place][None] for place in range(3) if place in given}
    query, key, value = (rows[0] for rows in _by_head(rows_of, (heads, of_keys, of_keys)))
    caches = [given[place].copy() for place, _ in _CACHES]
    block = caches[0].shape[1]
    scales = [given.get(place, np.float32(1)) for place in _OF_PAGED.scales]
    found = np.empty((len(given[0]), heads * query.shape[-1]), np.float32)
    for number, (begin, end) in enumerate(pairwise(ends)):
        own, places = slice(begin, end), past[number] + np.arange(end - begin)
        mine = [query[:, own], key[:, own], value[:, own]]
        if operator.integer("do_rotary", 0):
            tables = [given[at][places] for at in _OF_PAGED[:2]]
            mine[:2] = (_rotated(operator, tables, rows) for rows in mine[:2])
        every = np.arange(past[number] + end - begin)
        where = table[number, every // block], every % block
        new = tuple(index[past[number] :] for index in where)
        kept = []
        for cache, rows, scale in zip(caches, mine[1:], scales, strict=True):
            cache[new] = _coded(rows / scale, cache.dtype).swapaxes(0, 1)
            kept.append(_numbers(cache[where]).swapaxes(0, 1) * scale)
        sinks = given.get(_OF_PAGED.sinks)
        of_one = (mine[0], *kept)
        result = _attended(operator, of_one, places, None, sinks, _OF_PAGED.causal)
        found[own] = result.swapaxes(0, 1).reshape(end - begin, -1)
    results = dict(zip(operator.outputs, (found, *caches), strict=False))
    return [results[index] for index in layer.outputs]


def _check_caches(layer: Layer) -> None:
    """Raises `LayerModelError` unless keys and values have caches alike, before and after."""
    (operator,) = layer.operators
    for before, after in _CACHES:
        places = (*operator.inputs[before : before + 1], *operator.outputs[after : after + 1])
        if len(places) < 2 or OMITTED in places:
            raise LayerModelError(
                f"{layer.title()} that doesn't read and return a cache of keys and one of values "
                "is not supported yet"
            )
        if layer.tensors[places[0]].shape != layer.tensors[places[1]].shape:
            raise LayerModelError(f"{layer.title()} that copies its cache is not supported yet")
    keys, values = (layer.tensors[operator.inputs[place]].shape for place, _ in _CACHES)
    if keys != values:
        raise LayerModelError(
            f"{layer.title()} whose values are not as long as its keys is not supported yet"
        )


def _given(layer: Layer, values: Mapping[int, Array]) -> tuple[Operator, dict[int, Array]]:
    """The operator, and its inputs by place."""
    (operator,) = layer.operators
    places = enumerate(operator.inputs)
    return operator, {place: values[index] for place, index in places if index != OMITTED}


def _coded(rows: Array, dtype: np.dtype[Any]) -> Array:
    """Rows, divided by their scales, as a cache of this type has them: uint8 has two of a byte."""
    if dtype == np.float32:
        return rows
    if dtype == ml_dtypes.float8_e4m3fn:
        return np.asarray(np.clip(rows, -448, 448).astype(dtype))
    if dtype == np.int8:
        return np.asarray(np.clip(np.rint(rows), -128, 127).astype(dtype))
    codes = (np.clip(np.rint(rows), -8, 7) + 8).astype(np.uint8)
    return np.asarray(codes[..., ::2] | codes[..., 1::2] << 4)


def _numbers(codes: Array) -> Array:
    if codes.dtype != np.uint8:
        return np.asarray(codes.astype(np.float32))
    pairs = np.stack((codes & 15, codes >> 4), -1).astype(np.float32) - 8
    return pairs.reshape(*codes.shape[:-1], -1)


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


def _rotated(operator: Operator, tables: Sequence[Array], rows: Array) -> Array:
    """Rows by head, token and column, in pairs of columns: `tables` have the angles of tokens."""
    cosines, sines = tables
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
    causal: str,
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
    if operator.integer(causal, 1):
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
