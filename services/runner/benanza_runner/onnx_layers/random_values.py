"""Random inputs for layers: never zero, and valid for the operator that reads them.

Zeros run faster than the numbers of a real model, and an index out of range doesn't run at all.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from math import gcd, prod, sqrt
from typing import Any

import ml_dtypes
import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.draws import (
    DEQUANTISED,
    FLOATS,
    INTEGERS,
    LINEAR_ATTENTION,
    POSITIVE,
    QLINEAR,
    QUANTISED,
    ZERO,
    Draw,
    Rule,
    always,
    below,
    index_tuple,
    input_shape,
    output_shape,
    quantised,
    sequence_lengths,
)
from benanza_runner.onnx_layers.onnx_schemas import numpy_dtype
from benanza_runner.onnx_layers.onnxruntime_values import OWN_RULES
from benanza_runner.onnx_layers.precision import rounded
from benanza_schemas.layer import OMITTED, Layer, Operator, Precision
from benanza_schemas.operators.onnxruntime import is_own_operator
from benanza_schemas.operators.table import named

SEED = 20_200_218
BLOCK = 1 << 16
"""Only so many elements are drawn and rounded, and then repeated: a pass over the 10^9 of a cache
takes seconds.
"""


def random_value(layer: Layer, index: int, precision: Precision = "fp32") -> Array:
    """Elements for one of the layer's inputs, in its shape and type, the same at each call.

    Those of float32 are rounded to the precision. Types that NumPy lacks are those of ml_dtypes,
    with one element in each item.
    """
    tensor = layer.tensors[index]
    dtype = numpy_dtype(tensor.dtype)
    found = wanted(layer, index)
    block = _block(dtype, found) if isinstance(found, Draw) else found.astype(dtype)
    return np.resize(rounded(block, precision) if dtype == np.float32 else block, tensor.shape)


def fresh_value(
    layer: Layer, index: int, precision: Precision, random: np.random.Generator, size: int
) -> Array | None:
    """So many other elements for one of the layer's inputs, none of them repeated on purpose; None
    where a rule fixes each.
    """
    found = wanted(layer, index)
    if not isinstance(found, Draw):
        return None
    numbers = _numbers(numpy_dtype(layer.tensors[index].dtype), found, random, size)
    return rounded(numbers, precision) if numbers.dtype == np.float32 else numbers


def is_ruled(layer: Layer, index: int) -> bool:
    """Whether an operator of the layer doesn't take every number for one of the layer's inputs."""
    return any(True for _ in _ruled(layer, index))


def wanted(layer: Layer, index: int) -> Draw | Array:
    """What one of the layer's inputs may hold: any of such numbers, or these elements, repeated."""
    draws = list(_ruled(layer, index))
    if "int" not in layer.tensors[index].dtype:
        return draws[0] if draws else FLOATS
    return min(draws, key=_largest, default=INTEGERS)


def _ruled(layer: Layer, index: int) -> Iterator[Draw | Array]:
    """What each rule says, of the tensor itself and of what has its elements elsewhere.

    Of several, the first counts; of integers that with the smallest numbers, since several tables
    may be read at the same indices.
    """
    for operator in layer.operators:
        own = is_own_operator(operator.op_type, operator.domain)
        if operator.domain not in STANDARD and not own:
            continue
        rules = OWN_RULES if own else RULES
        for slot, rule in rules.get(operator.op_type, {}).items():
            if slot < len(operator.inputs) and operator.inputs[slot] == index:
                yield rule(layer, operator)
        moved = operator.inputs if operator.op_type == "Concat" else operator.inputs[:1]
        if not own and operator.op_type in MOVING and index in moved:
            for output in operator.outputs:
                if output != OMITTED:
                    yield from _ruled(layer, output)


def _largest(found: Draw | Array) -> float:
    return found.high if isinstance(found, Draw) else float(found.max(initial=0))


@cache
def _block(dtype: np.dtype[Any], draw: Draw) -> Array:
    return _numbers(dtype, draw, np.random.default_rng(SEED), BLOCK)


def _numbers(dtype: np.dtype[Any], draw: Draw, random: np.random.Generator, count: int) -> Array:
    if dtype == np.bool_:
        return random.integers(0, 2, count).astype(np.bool_)
    if "int" in dtype.name:
        most: int = ml_dtypes.iinfo(dtype).max  # type: ignore[no-untyped-call]  # as it stands
        numbers: Array = random.integers(int(draw.low), min(int(draw.high), most) + 1, count)
    else:
        numbers = random.uniform(draw.low, draw.high, count)
    if draw.signed:
        numbers = numbers * random.choice((-1, 1), count)
    return numbers.astype(dtype)


def _index_on_axis(default: int) -> Rule:
    return lambda layer, operator: below(
        input_shape(layer, operator, 0)[operator.integer("axis", default)]
    )


def _element_index(layer: Layer, operator: Operator) -> Draw | Array:
    """Runs of neighbours where the model fixes the indices, as relative positions have them.

    The elements of constants are not known here. What reads neighbours takes the least time, and a
    bound from below has to hold for all indices.
    """
    axis = operator.integer("axis", 0)
    size = max(input_shape(layer, operator, 0)[axis], 1)
    if not layer.tensors[_source(layer, operator.inputs[1])].constant:
        return below(size)
    return np.arange(size)


def _source(layer: Layer, index: int) -> int:
    """The tensor whose elements a tensor has, through all that only moves them."""
    for operator in reversed(layer.operators):
        if index in operator.outputs and operator.op_type in MOVING:
            index = operator.inputs[0]
    return index


def _distinct_on_axis(layer: Layer, operator: Operator) -> Array:
    """Indices of which no two that differ in the axis alone are the same, as scattering wants."""
    axis = operator.integer("axis", 0)
    size = max(input_shape(layer, operator, 0)[axis], 1)
    places = np.indices(input_shape(layer, operator, 1), sparse=True)[axis]
    chosen = np.random.default_rng(SEED).permutation(size)[places % size]
    return np.broadcast_to(chosen, input_shape(layer, operator, 1))


def _distinct_tuples(layer: Layer, operator: Operator) -> Array:
    """Tuples of indices of which no two are the same, as long as there are enough."""
    *rows, named = input_shape(layer, operator, 1)
    sizes = [max(size, 1) for size in input_shape(layer, operator, 0)[:named]]
    total = prod(sizes)
    step = next(n for n in range(total // 2 + 1, total + 2) if gcd(n, total) == 1)
    flat = np.arange(prod(rows)) * step % total
    return np.stack(np.unravel_index(flat, sizes), axis=-1)


def _size_on_axis(default: int) -> Rule:
    return lambda layer, operator: np.array(
        output_shape(layer, operator)[operator.integer("axis", default)]
    )


def _whole_output(layer: Layer, operator: Operator) -> Array:
    return np.array(output_shape(layer, operator), np.int64)


def _grid_size(layer: Layer, operator: Operator) -> Array:
    """The size of an image at whose points a grid is: what channels it has makes no difference."""
    batch, *space, _ = output_shape(layer, operator)
    return np.array([batch, 1, *space], np.int64)


def _one_hot_index(layer: Layer, operator: Operator) -> Draw:
    return below(output_shape(layer, operator)[operator.integer("axis", -1)])


def _key_lengths(layer: Layer, operator: Operator) -> Array:
    """All keys count, for each item of the batch."""
    return np.array(input_shape(layer, operator, 1)[-2])


def _last_places(layer: Layer, operator: Operator) -> Array:
    """New tokens are the last ones of a cache."""
    axis = operator.integer("axis", -2)
    cache, tokens = (input_shape(layer, operator, slot)[axis] for slot in (0, 1))
    return np.array(cache - tokens)


def _mixing(slot: int) -> Rule:
    """Weights so small that states settle: with larger ones, rounding grows from step to step
    until results of two right programs have nothing in common.
    """

    def draw(layer: Layer, operator: Operator) -> Draw:
        factor = 1 / sqrt(max(input_shape(layer, operator, slot)[-1], 1))
        return Draw(FLOATS.low * factor, FLOATS.high * factor, FLOATS.signed)

    return draw


def _flat_output_index(layer: Layer, operator: Operator) -> Draw:
    return below(prod(output_shape(layer, operator)))


def _class_index(layer: Layer, operator: Operator) -> Draw:
    return below(input_shape(layer, operator, 0)[1])


def _exponent(layer: Layer, operator: Operator) -> Draw | Array:
    """Squares, where there is one exponent: that is what models have."""
    return Draw(0.5, 2.0) if prod(input_shape(layer, operator, 1)) > 1 else np.array(2.0)


_BYTES = {0: always(Draw(-100, 255)), 1: always(Draw(-60, 60))}
"""Bytes of all kinds, now and then zero: what doesn't fit is taken modulo 256. Weights are so small
that two products fit into 16 bits: on CPUs without VNNI, ONNX Runtime lets larger sums saturate."""

_RECURRENT = {1: _mixing(1), 2: _mixing(2), 4: sequence_lengths}

STANDARD = frozenset({"", "ai.onnx.ml"})

MOVING = named(lambda facts: facts.region in ("movement", "view")) | {"Cast", "CastLike"}
"""Operators whose results have the elements of their inputs, now and then with zeros."""

RULES: Mapping[str, Mapping[int, Rule]] = {
    "Acosh": {0: always(Draw(1.1, 2.0))},
    "AffineGrid": {1: _grid_size},
    "ArrayFeatureExtractor": {
        1: lambda layer, operator: below(input_shape(layer, operator, 0)[-1])
    },
    "Attention": {6: _key_lengths},
    "Atanh": {0: always(Draw(0.3, 0.9, signed=True))},
    "BatchNormalization": {4: always(POSITIVE)},
    "Bernoulli": {0: always(POSITIVE)},
    "BitShift": {1: always(Draw(0, 7))},
    "ConstantOfShape": {0: _whole_output},
    "ConvInteger": {2: always(ZERO), 3: always(ZERO)},
    "CumProd": {1: always(ZERO)},
    "CumSum": {1: always(ZERO)},
    "DequantizeLinear": DEQUANTISED,
    "Expand": {1: _whole_output},
    "GRU": _RECURRENT,
    "Gather": {1: _index_on_axis(0)},
    "GatherElements": {1: _element_index},
    "GatherND": {1: index_tuple},
    "LSTM": _RECURRENT,
    "LinearAttention": LINEAR_ATTENTION,
    "Log": {0: always(POSITIVE)},
    "MatMulInteger": _BYTES | {2: always(INTEGERS), 3: always(INTEGERS)},
    "MaxUnpool": {1: _flat_output_index},
    "NegativeLogLikelihoodLoss": {1: _class_index},
    "OneHot": {0: _one_hot_index, 1: _size_on_axis(-1)},
    "Pow": {0: always(POSITIVE), 1: _exponent},
    "QLinearConv": QLINEAR | {8: quantised(8)},
    "QLinearMatMul": QLINEAR,
    "QuantizeLinear": QUANTISED,
    "RNN": _RECURRENT,
    "ReduceLogSum": {0: always(POSITIVE)},
    "Reshape": {1: _whole_output},
    "ReverseSequence": {1: sequence_lengths},
    "RoiAlign": {2: lambda layer, operator: below(input_shape(layer, operator, 0)[0])},
    "RotaryEmbedding": {3: lambda layer, operator: below(input_shape(layer, operator, 1)[0])},
    "Scatter": {1: _distinct_on_axis},
    "ScatterElements": {1: _distinct_on_axis},
    "ScatterND": {1: _distinct_tuples},
    "SoftmaxCrossEntropyLoss": {1: _class_index},
    "Sqrt": {0: always(POSITIVE)},
    "TensorScatter": {2: _last_places},
    "TopK": {1: _size_on_axis(-1)},
    "Trilu": {1: always(ZERO)},
}
"""What each input may hold, by its place, for operators that don't take every number."""
