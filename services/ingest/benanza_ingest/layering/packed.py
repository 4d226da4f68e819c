"""How many numbers stand in weights that have several in a byte.

Source: the definitions of the operators of `com.microsoft` in ONNX Runtime. A tensor of a type of 4
bits, as ONNX has them, has the shape of what stands in it.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod

from benanza_ingest.layering.onnxruntime_flops import expert_bits
from benanza_ingest.layering.operator_values import elements
from benanza_schemas.layer import OMITTED, Layer, Operator

Rule = Callable[[Layer, Operator, Sequence[int]], Mapping[int, int]]
"""The numbers in an operator's inputs, by position, of which the sequence has the bytes."""


def unpacked(layer: Layer, operator: Operator) -> dict[int, int]:
    """The numbers in weights of bytes that an operator takes apart, by the tensor's place in the
    layer.
    """
    rule = _RULES.get((operator.domain, operator.op_type))
    if rule is None:
        return {}
    sizes = [_bytes(layer, place) for place in operator.inputs]
    counts = rule(layer, operator, sizes)
    return {
        operator.inputs[slot]: numbers
        for slot, numbers in counts.items()
        if slot < len(sizes) and sizes[slot]
    }


def _bytes(layer: Layer, place: int) -> int:
    tensor = None if place == OMITTED else layer.tensors[place]
    return prod(tensor.shape) if tensor is not None and tensor.dtype == "uint8" else 0


def _matrices(columns: Mapping[int, str]) -> Rule:
    """Matrices of K rows, and of as many columns as these attributes say."""
    return lambda layer, operator, sizes: {
        slot: operator.integer("K") * operator.integer(name) for slot, name in columns.items()
    }


def _with_zeros(layer: Layer, operator: Operator, sizes: Sequence[int]) -> dict[int, int]:
    """A matrix, and a zero point for each block of a column, the last of which needn't be full."""
    rows, columns = operator.integer("K"), operator.integer("N")
    return {1: rows * columns, 3: columns * -(-rows // operator.integer("block_size"))}


def _of_bits(bits: Mapping[int, int], sizes: Sequence[int]) -> dict[int, int]:
    return {slot: sizes[slot] * 8 // width for slot, width in bits.items() if slot < len(sizes)}


def _table(layer: Layer, operator: Operator, sizes: Sequence[int]) -> dict[int, int]:
    """With its zero points."""
    return _of_bits(dict.fromkeys((0, 3), operator.integer("bits") or 4), sizes)


def _experts(layer: Layer, operator: Operator, sizes: Sequence[int]) -> dict[int, int]:
    """Three products, with their zero points."""
    places = enumerate(((2, 11), (5, 12), (8, 13)), start=1)
    bits = {slot: expert_bits(operator, product) for product, both in places for slot in both}
    return _of_bits(bits, sizes)


def _shaped(layer: Layer, operator: Operator, sizes: Sequence[int]) -> dict[int, int]:
    """An input says what shape the weights have."""
    shape = elements(layer, operator, 2)
    return {} if shape is None else {1: prod(shape)}


_RULES: Mapping[tuple[str, str], Rule] = {
    ("com.microsoft", "GatherBlockQuantized"): _table,
    ("com.microsoft", "MatMulBlockQuantizedFp4Weight"): lambda _l, _o, sizes: {1: 2 * sizes[1]},
    ("com.microsoft", "MatMulBnb4"): _matrices({1: "N"}),
    ("com.microsoft", "MatMulFpQ4"): _shaped,
    ("com.microsoft", "MatMulNBits"): _with_zeros,
    ("com.microsoft", "MatMulNBitsMlp"): _matrices({3: "N", 6: "N"}),
    ("com.microsoft", "MatMulNBitsQkv"): _matrices({3: "Nq", 6: "Nkv", 9: "Nkv"}),
    ("com.microsoft", "QMoE"): _experts,
}
