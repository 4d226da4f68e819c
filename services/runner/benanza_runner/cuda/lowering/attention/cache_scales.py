"""How ONNX Runtime's attention to quantised caches stores keys and values.

Source: the definitions of GroupQueryAttention and PagedAttention in ONNX Runtime.
"""

from collections.abc import Mapping
from math import prod

from benanza_runner.cuda.calls import QuantisedCache
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

_ELEMENTS = {"int8": "int8", "float8e4m3fn": "float8e4m3fn", "uint8": "int4"}
"""What codes are, by the element types of caches. Two of four bits share a byte."""

_ATTRIBUTES = {"key_scales": "k_quant_type", "value_scales": "v_quant_type"}

CACHE = 3
"""The place of the cache of keys."""


def quantised_cache(
    layer: Layer, operator: Operator, scales: Mapping[str, int]
) -> QuantisedCache | None:
    """How codes are stored, given the tensors of scales; None for a cache of floats.

    Raises `UnsupportedError`.
    """
    kinds = {name: operator.text(kind, "NONE") for name, kind in _ATTRIBUTES.items()}
    if set(kinds.values()) == {"NONE"} and set(scales.values()) == {OMITTED}:
        return None
    if "NONE" in kinds.values() or OMITTED in scales.values():
        raise _refused(operator, "of keys or of values alone, or without scales,")
    named = operator.text("k_cache_dtype", "")
    if operator.text("v_cache_dtype", named) != named:
        raise _refused(operator, "of unlike types of keys and values")
    dtype = layer.tensors[operator.inputs[CACHE]].dtype
    element = _ELEMENTS.get(dtype)
    if element is None or (element == "int4") != (_bits(operator) == 4):
        raise _refused(operator, f"of {_bits(operator)} bits in {dtype}")
    by_channel = {}
    for name, index in scales.items():
        if not layer.tensors[index].constant:
            raise _refused(operator, "with computed scales")
        by_channel[name] = prod(layer.tensors[index].shape) > 1
        if by_channel[name] and kinds[name] != "PER_CHANNEL":
            raise _refused(operator, f"with several scales, {kinds[name]},")
    return QuantisedCache(element, by_channel["key_scales"], by_channel["value_scales"])


def _bits(operator: Operator) -> int:
    """Of a code, as an attribute says it: a number, or for pages the type."""
    of_pages = 4 if operator.text("k_cache_dtype", "") == "int4" else 8
    return operator.integer("kv_cache_bit_width", of_pages)


def _refused(operator: Operator, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"a {operator.op_type} with a quantised cache {what} is not supported yet"
    )
