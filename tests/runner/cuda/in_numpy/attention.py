"""Attention in NumPy."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

import ml_dtypes
import numpy as np
from msgspec.structs import replace

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Attention, CachedAttention, Pages, QuantisedCache
from benanza_runner.cuda.device_tensor import from_float8
from benanza_runner.cuda.elements import FLOAT8


def attention(call: Attention, operands: Mapping[str, Array]) -> Array:
    if call.pages:
        return attention_to_pages(call, operands)

    def placed(
        name: str, heads: int, rows: int, columns: int, start: int, steps: tuple[int, ...]
    ) -> Array:
        index = np.full((call.batch, heads, rows, columns), start)
        for axis, step in enumerate(steps):
            index += step * np.indices(index.shape, sparse=True)[axis]
        shares = call.heads // heads
        found: Array = operands[name].reshape(-1)[index].repeat(shares, axis=1)
        return found

    if call.stored:
        operands = {**operands, **with_floats(call, operands)}
        call = in_floats(call)
    query = placed("query", call.heads, call.queries, call.size, call.query_start, call.query_steps)
    key = placed("key", call.key_heads, call.keys, call.size, call.key_start, call.key_steps)
    value = placed(
        "value", call.value_heads, call.keys, call.width, call.value_start, call.value_steps
    )
    if call.biased:
        query = query + operands["query_bias"].reshape(call.heads, 1, call.size)
        value = value + operands["value_bias"].reshape(call.heads, 1, call.width)
    scores = call.scale * np.einsum("bhqd,bhkd->bhqk", query, key)
    if call.cap:
        scores = call.cap * np.tanh(scores / call.cap)
    if call.mask:
        mask = operands["mask"].reshape(call.mask)
        scores = scores + (np.where(mask, *call.chosen) if call.chosen else mask)
    places = np.arange(call.keys)
    own = call.before + np.arange(call.queries)[:, None]
    if call.causal:
        scores = np.where(places > own, -np.inf, scores)
    if call.window:
        scores = np.where(places <= own - call.window, -np.inf, scores)
    if call.sinks:
        sinks = np.broadcast_to(operands["sinks"][:, None, None], (*scores.shape[:3], 1))
        scores = np.concatenate((scores, sinks), -1)
        value = np.pad(value, ((0, 0), (0, 0), (0, 1), (0, 0)))
    most = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isneginf(most), 0, most))
    total = powers.sum(axis=-1, keepdims=True)
    result = powers @ value / np.where(total, total, 1)
    flat = np.full(prod(call.output), np.nan)
    index = np.zeros(result.shape, int)
    for axis, step in enumerate(call.output_steps):
        index += step * np.indices(index.shape, sparse=True)[axis]
    flat[index.reshape(-1)] = result.reshape(-1)
    return flat.reshape(call.output)


def numbers(stored: QuantisedCache, codes: Array) -> Array:
    """What bytes of a cache stand for."""
    codes = codes.view(np.uint8)
    if stored.element == FLOAT8:
        return np.asarray(from_float8(codes))
    if stored.element == "int8":
        return codes.view(np.int8).astype(np.float32)
    pairs = np.stack((codes & 15, codes >> 4), -1).astype(np.float32) - 8
    return pairs.reshape(*codes.shape[:-1], -1)


def codes_of(stored: QuantisedCache, floats: Array) -> Array:
    """The bytes of what was divided by its scale."""
    if stored.element == FLOAT8:
        return np.clip(floats, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    if stored.element == "int8":
        return np.clip(np.rint(floats), -128, 127).astype(np.int8)
    found = (np.clip(np.rint(floats), -8, 7) + 8).astype(np.uint8)
    return found[..., ::2] | found[..., 1::2] << 4


def with_floats(call: Attention, operands: Mapping[str, Array]) -> dict[str, Array]:
    """The keys and values as floats, by batch and place and head."""
    assert call.stored
    made = {}
    for name in ("key", "value"):
        scales = operands[f"{name}_scales"].reshape(-1)
        by_head = scales.reshape(call.key_heads, 1, -1) if len(scales) > 1 else scales
        made[name] = numbers(call.stored, operands[name]) * by_head
    return made


def in_floats(call: Attention) -> Attention:
    """The attention to these, in which a row is as long as its codes."""
    assert call.stored
    wider = call.stored.per_byte
    of_key, of_value = (
        (*(step * wider for step in steps[:3]), steps[3])
        for steps in (call.key_steps, call.value_steps)
    )
    return replace(
        call,
        stored=None,
        key_steps=of_key,
        value_steps=of_value,
        key_start=call.key_start * wider,
        value_start=call.value_start * wider,
    )


def attention_to_pages(call: Attention, operands: Mapping[str, Array]) -> Array:
    """One sequence after another, with its keys and values by head."""
    assert call.pages
    ends, past = operands["ends"], operands["past"]
    size, found = call.size, np.empty((call.pages.tokens, call.heads, call.size))
    for number, (begin, end) in enumerate(pairwise(ends)):
        keys = past[number] + end - begin
        block, within = places_in(call.pages, operands, number, np.arange(keys))
        by_head = {name: operands[name][block, within].swapaxes(0, 1) for name in ("key", "value")}
        line = by_head["key"].shape[-1]
        of_key = keys * line * call.key_heads, keys * line, line, 1
        alone = replace(
            call,
            output=(end - begin, call.heads * size),
            batch=1,
            queries=end - begin,
            keys=keys,
            key_steps=of_key,
            value_steps=of_key,
            before=past[number],
            pages=None,
        )
        rows = operands["query"].reshape(call.pages.tokens, -1)[begin:end]
        result = attention(alone, {**operands, **by_head, "query": rows})
        found[begin:end] = result.reshape(-1, call.heads, size)
    return found.reshape(call.output)


def places_in(
    pages: Pages, operands: Mapping[str, Array], number: int, keys: Array
) -> tuple[Array, Array]:
    """The blocks of keys of a sequence, and their places there."""
    return operands["table"][number, keys // pages.block], keys % pages.block


def cached_attention(call: CachedAttention, operands: Mapping[str, Array]) -> list[Array]:
    query, *caches = appended(call, operands)
    given = {**operands, "query": query, "key": caches[0], "value": caches[1]}
    found = attention(call.attention(), given), *caches
    return [found[number] for number in call.results]


def appended(call: CachedAttention, operands: Mapping[str, Array]) -> tuple[Array, Array, Array]:
    """The queries as the attention reads them, and the caches of keys and of values."""
    counts = (call.heads, call.key_heads, call.key_heads)
    new = [operands[name] for name in ("query", *(() if call.packed else ("key", "value")))]
    if call.packed:
        new = np.split(new[0], np.cumsum(counts)[:2] * call.size, axis=-1)
    if call.pages:
        return in_pages(call, operands, new)
    query, key, value = (
        array.reshape(call.batch, call.queries, count, call.size)
        for array, count in zip(new, counts, strict=True)
    )
    if call.rotated:
        places = np.arange(call.keys - call.queries, call.keys)
        query, key = (_rotated(call, operands, rows, places) for rows in (query, key))
    keys, values = (operands[name].copy() for name in ("key_cache", "value_cache"))
    for cache, name, new_rows in ((keys, "key_scales", key), (values, "value_scales", value)):
        rows = new_rows.swapaxes(1, 2)
        if call.stored:
            scales = operands[name].reshape(-1)
            by_head = scales.reshape(call.key_heads, 1, -1) if len(scales) > 1 else scales
            rows = codes_of(call.stored, rows / by_head)
        cache[:, :, call.keys - call.queries : call.keys] = rows
    return query if call.rotated else operands["query"], keys, values


def in_pages(
    call: CachedAttention, operands: Mapping[str, Array], new: Sequence[Array]
) -> tuple[Array, Array, Array]:
    """The same for sequences whose keys lie in blocks."""
    assert call.pages
    counts = (call.heads, call.key_heads, call.key_heads)
    query, key, value = (
        array.reshape(1, call.tokens, count, call.size)
        for array, count in zip(new, counts, strict=True)
    )
    ends, past = operands["ends"], operands["past"]
    sequence = np.repeat(np.arange(call.batch), np.diff(ends))
    places = past[sequence] + np.arange(call.tokens) - ends[sequence]
    if call.rotated:
        query, key = (_rotated(call, operands, rows, places) for rows in (query, key))
    caches = [operands[name].copy() for name in ("key_cache", "value_cache")]
    for cache, name, rows in zip(caches, ("key_scales", "value_scales"), (key, value), strict=True):
        kept = rows[0]
        if call.stored:
            scales = operands[name].reshape(-1)
            kept = kept / (scales.reshape(call.key_heads, -1) if len(scales) > 1 else scales)
            kept = codes_of(call.stored, kept)
        for token, (number, place) in enumerate(zip(sequence, places, strict=True)):
            cache[places_in(call.pages, operands, int(number), place)] = kept[token]
    return query if call.rotated else operands["query"], caches[0], caches[1]


def _rotated(
    call: CachedAttention, operands: Mapping[str, Array], rows: Array, places: Array
) -> Array:
    """Rows by batch, token, head and column, as complex numbers times those of their places."""
    apart, rest = rows[..., : call.rotated], rows[..., call.rotated :]
    axis = -1 if call.interleaved else -2
    pairs = apart.reshape(*rows.shape[:3], *((-1, 2) if call.interleaved else (2, -1)))
    real, imaginary = np.moveaxis(pairs, axis, 0)
    cosines, sines = (operands[name][places][:, None] for name in ("cosines", "sines"))
    turned = (real + 1j * imaginary) * (cosines + 1j * sines)
    both = np.stack((turned.real, turned.imag), axis).reshape(apart.shape)
    return np.concatenate((both, rest), -1)
