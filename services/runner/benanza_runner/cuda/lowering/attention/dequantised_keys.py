"""Keys and values that a layer dequantises before its attention, as the codes that are kept.

Source: ONNX's `DequantizeLinear`.
"""

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import QuantisedCache
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

CODES = frozenset(("int8", "float8e4m3fn"))


def dequantising(layer: Layer) -> dict[int, Operator]:
    """The operators that dequantise, by the tensors that they write."""
    return {o.outputs[0]: o for o in layer.operators if o.op_type == "DequantizeLinear"}


def without(layer: Layer, operators: Mapping[int, Operator]) -> Layer:
    """The layer as if the tensors that these operators write were given."""
    kept = [o for o in layer.operators if not (o.outputs and o.outputs[0] in operators)]
    return replace(layer, operators=tuple(kept))


def stored_keys(
    layer: Layer, values: Mapping[int, Array], key: Operator | None, value: Operator | None
) -> tuple[QuantisedCache | None, dict[str, Array]]:
    """How keys and values are stored that these operators dequantise, with their operands; None and
    no operands if there are none. Raises `UnsupportedError`.
    """
    if key is None and value is None:
        return None, {}
    if key is None or value is None:
        raise UnsupportedError("an Attention to keys in 8 bits and values in more is not supported")
    dtypes = {layer.tensors[operator.inputs[0]].dtype for operator in (key, value)}
    if len(dtypes) > 1 or not dtypes <= CODES:
        kinds = " and ".join(sorted(dtypes))
        raise UnsupportedError(f"an Attention to keys and values in {kinds} is not supported yet")
    operands: dict[str, Array] = {}
    for name, operator in (("key", key), ("value", value)):
        codes, scale, zero = (*operator.inputs, OMITTED)[:3]
        fixed = all(layer.tensors[i].constant for i in (scale, zero) if i != OMITTED)
        if not fixed or values[scale].size > 1:
            raise UnsupportedError("an Attention to keys with several or computed scales")
        if zero != OMITTED and np.any(values[zero]):
            raise UnsupportedError("an Attention to keys with a zero point is not supported yet")
        operands |= {name: values[codes], f"{name}_scales": values[scale].reshape(1)}
    return QuantisedCache(dtypes.pop()), operands
