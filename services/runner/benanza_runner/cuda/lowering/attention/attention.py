"""Attention as one call: ONNX's operator, and what moves its operands before and its result after.

Operands are read where they are in the layer's inputs, and the result is written where it is to be,
by strides.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from msgspec.structs import replace

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Attention
from benanza_runner.cuda.lowering.attention.dequantised_keys import (
    dequantising,
    stored_keys,
    without,
)
from benanza_runner.cuda.lowering.attention.masks import Mask, mask_of
from benanza_runner.cuda.lowering.strided import reshaped, steps, strided, written
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.element_types import FLOATS
from benanza_schemas.layer import OMITTED, Layer, Operator

Lowering = tuple[Attention, dict[str, Array], frozenset[str]]

NAMES = ("query", "key", "value")


def is_attention(layer: Layer) -> bool:
    """Whether a layer has ONNX's Attention, with whatever other operators."""
    return any(operator.op_type == "Attention" for operator in layer.operators)


def lower_attention(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    before_it = dequantising(layer)
    layer = without(layer, before_it)
    position = next(
        n for n, candidate in enumerate(layer.operators) if candidate.op_type == "Attention"
    )
    operator = layer.operators[position]
    _check(layer, operator)
    given = (*operator.inputs, *(OMITTED,) * 4)
    heads, key_heads = operator.integer("q_num_heads", 0), operator.integer("kv_num_heads", 0)
    places = [strided(layer, index) for index in given[:3]]
    query, key, value = (
        _by_head(place.array, count)
        for place, count in zip(places, (heads, key_heads, key_heads), strict=True)
    )
    whole = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    before = _before(layer, values, given[6], query.shape[2], key.shape[2])
    mask = Mask() if given[3] == OMITTED else mask_of(layer, values, given[3], whole)
    stored, codes = stored_keys(layer, values, *(before_it.get(p.source) for p in places[1:]))
    read = {n: p.source for n, p in zip(NAMES, places, strict=True) if n not in codes}
    operands = {name: values[source] for name, source in read.items()} | codes
    weights = {name for name, source in read.items() if layer.tensors[source].constant}
    weights |= {f"{name}_scales" for name in NAMES if name in codes}
    if mask.values is not None:
        operands["mask"] = mask.values
        weights |= {"mask"} if mask.fixed else set()
    result = _by_head(written(layer, position), heads)
    starts = [place.start for place in places]
    shared = (
        places[1].source == places[2].source
        and starts[1] == starts[2]
        and steps(key) == steps(value)
        and value.shape[3] <= key.shape[3]
    )
    call = _call(layer, operator, (query, key, value, result), starts, mask, before)
    call = replace(call, stored=stored, shared=shared)
    return call, operands, frozenset(weights)


def _check(layer: Layer, operator: Operator) -> None:
    """Raises `UnsupportedError` for what libraries don't do."""
    if len(layer.outputs) > 1:
        raise UnsupportedError(f"{layer.title()} with several outputs is not supported yet")
    given = (*operator.inputs, *(OMITTED,) * 7)
    if any(index != OMITTED for index in given[4:6]):
        raise UnsupportedError("an Attention with past keys and values is not supported yet")
    other = [layer.tensors[index].dtype for index in given[:3]]
    if not FLOATS.issuperset(other):
        raise UnsupportedError(f"an Attention of {', '.join(other)} is not supported yet")
    windows = (operator.integer(f"{side}_window_size", -1) for side in ("left", "right"))
    if any(size != -1 for size in windows):
        raise UnsupportedError("an Attention that sees a window is not supported yet")


def _before(
    layer: Layer, values: Mapping[int, Array], lengths: int, queries: int, keys: int
) -> int:
    """How many keys stand before the first query's own. There are none, unless the layer has
    lengths of the keys: then the last query has the place of the last key that counts. Where they
    are computed, all keys are taken to count.
    """
    if lengths == OMITTED:
        return 0
    if queries > keys or (values[lengths] != keys).any():
        raise UnsupportedError("an Attention with keys that don't count is not supported yet")
    return keys - queries


def _by_head(array: Array, heads: int) -> Array:
    """By batch, head, row and column. With three axes, a row holds the columns of all heads."""
    if array.ndim == 4:
        return array
    batch, rows, columns = array.shape
    return reshaped(array, (batch, rows, heads, columns // heads)).transpose(0, 2, 1, 3)


def _call(
    layer: Layer,
    operator: Operator,
    arrays: Sequence[Array],
    starts: Sequence[int],
    mask: Mask,
    before: int,
) -> Attention:
    """The call for arrays by batch, head, row and column; repeated heads count as one."""
    query, key, value, result = arrays
    batch, heads, queries, size = query.shape
    key, value = (
        array[:, :1] if heads > 1 and array.strides[1] == 0 else array for array in (key, value)
    )
    causal = bool(operator.integer("is_causal", 0))
    return Attention(
        output=layer.tensors[layer.outputs[0]].shape,
        batch=batch,
        heads=heads,
        key_heads=key.shape[1],
        value_heads=value.shape[1],
        queries=queries,
        keys=key.shape[2],
        size=size,
        width=value.shape[3],
        query_steps=steps(query),
        key_steps=steps(key),
        value_steps=steps(value),
        output_steps=steps(result),
        query_start=starts[0],
        key_start=starts[1],
        value_start=starts[2],
        scale=operator.number("scale", 1 / sqrt(size)),
        mask=mask.shape,
        chosen=mask.chosen,
        causal=causal,
        before=before if causal else 0,
        cap=operator.number("softcap", 0.0),
    )
