"""What calls mean, in NumPy: slow, plain, and written from their docstrings alone."""

from collections.abc import Callable, Mapping
from itertools import product
from math import erf, prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import (
    Accumulation,
    AllGather,
    AllReduce,
    AnyConvolution,
    Attention,
    CachedAttention,
    Call,
    Concatenation,
    Convolution,
    EightBitProduct,
    ElementGathering,
    ElementScattering,
    Elementwise,
    Gathering,
    LinearAttention,
    Matrices,
    MergedProduct,
    MixtureOfExperts,
    Normalisation,
    PackedProduct,
    Padding,
    Pooling,
    Product,
    ProjectedAttention,
    Quantised,
    Ranking,
    Recurrence,
    Reduction,
    Region,
    Resizing,
    RowNormalisation,
    Scattering,
    Shuffle,
    Softmax,
    Splitting,
    TransposedConvolution,
    View,
)
from benanza_runner.cuda.calls.region import Given
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.feature_maps import feature_maps
from benanza_runner.cuda.lowering.regions.as_region import as_region
from benanza_runner.onnx_layers.onnx_schemas import numpy_dtype
from tests.runner.cuda.in_numpy import moves, recurrent, rows
from tests.runner.cuda.in_numpy.attention import attention, cached_attention
from tests.runner.cuda.in_numpy.experts import mixture_of_experts
from tests.runner.cuda.kernels.regions import on_host


def compute(call: Call, operands: Mapping[str, Array], folder: Path) -> list[Array]:
    """The results of a call on operands, floats in float64.

    Element-wise calls and regions are compiled in a folder.
    """
    match call:
        case Region():
            return _region(call, operands, folder)
        case Elementwise():
            # What the statements of C compute is for the tests to compare.
            return _as_region(call, operands, folder)
        case Splitting():
            ends = np.cumsum(call.lengths)[:-1]
            parts = np.split(operands["input"], ends, axis=call.axis)
            results = [parts[number] for number in call.results]
        case Ranking():
            results = rows.ranking(call, operands["input"])
        case MergedProduct():
            results = merged_product(call, operands)
        case CachedAttention():
            results = cached_attention(call, operands)
        case ProjectedAttention():
            projected = matrix_product(call.product, operands)
            made = dict.fromkeys(("query", "key", "value"), projected)
            results = [attention(call.attention, {**operands, **made})]
        case LinearAttention():
            results = recurrent.linear_attention(call, operands)
        case Recurrence():
            results = recurrent.recurrence(call, operands)
        case _:
            results = [_one(call, operands)]
    for found, again in zip(results, _as_region(call, operands, folder) or results, strict=True):
        np.testing.assert_allclose(again, found, 1e-3, 1e-5)
    return results


def _as_region(call: Call, operands: Mapping[str, Array], folder: Path) -> list[Array]:
    """The results of the region that the call is; none if it isn't one."""
    region = as_region(call, {})
    if region is None:
        return []
    shapes = {v.name: v.shape for v in region.values if isinstance(v, Given)}
    seen = {name: operands[name].reshape(shape) for name, shape in shapes.items()}
    return _region(region, seen, folder)


def _region(call: Region, operands: Mapping[str, Array], folder: Path) -> list[Array]:
    """The results of kernels of two widths; for feature maps also of tiles, and channels last."""
    variants = [on_host.Variant(1), on_host.Variant(4)]
    if feature_maps(call):
        variants += [on_host.Variant(width, last=True) for width in (1, 4)]
        variants += [on_host.Variant(1, tile=2), on_host.Variant(4, tile=2, last=True)]
    found, *others = on_host.region(call, operands, folder, variants)
    for other in others:
        for first, second in zip(found, other, strict=True):
            np.testing.assert_allclose(first, second, 1e-5, 1e-6)
    return found


def _of_ranks(call: AllReduce | AllGather, operands: Mapping[str, Array]) -> list[Array]:
    """Each rank's operand: the first one's numbers, which begin a place later on each next rank."""
    first = operands["input"]
    moved = [np.roll(first.ravel(), rank) for rank in range(call.ranks)]
    return [each.reshape(first.shape) for each in moved]


def _one(call: Call, operands: Mapping[str, Array]) -> Array:
    match call:
        case AllReduce():
            return np.asarray(np.stack(_of_ranks(call, operands)).sum(0))
        case AllGather():
            return np.concatenate(_of_ranks(call, operands), call.axis)
        case Convolution():
            return convolution(call, operands)
        case TransposedConvolution():
            return transposed_convolution(call, operands)
        case Product():
            return matrix_product(call, operands)
        case EightBitProduct():
            return eight_bit_product(call, operands)
        case PackedProduct():
            return packed_product(call, operands)
        case Quantised():
            return quantised(call, operands)
        case Attention():
            return attention(call, operands)
        case MixtureOfExperts():
            return mixture_of_experts(call, operands, ACTIVATIONS)
        case Pooling():
            return pooling(call, operands["input"].reshape(call.input))
        case Softmax():
            x = operands["input"].reshape(call.outer, call.size, call.inner)
            powers = np.exp(x - x.max(axis=1, keepdims=True))
            shares = powers / powers.sum(axis=1, keepdims=True)
            found: Array = np.log(shares) if call.logarithm else shares
            return found.reshape(call.output)
        case Normalisation():
            return normalisation(call, operands["input"])
        case Concatenation():
            parts = [operands[f"in{index}"] for index in range(len(call.shapes))]
            joined: Array = np.concatenate(parts, axis=call.axis)
            return joined
        case View():
            cut = tuple(map(slice, call.starts, call.stops, call.steps))
            seen = operands["input"].reshape(call.input)[cut].transpose(call.order)
            return np.broadcast_to(seen, call.output)
        case Shuffle():
            batch, channels, *space = call.input
            table = operands["input"].reshape(batch, call.rows, channels // call.rows, *space)
            return table.swapaxes(1, 2).reshape(call.input)
        case Reduction():
            return rows.reduction(call, operands["input"])
        case RowNormalisation():
            return rows.row_normalisation(call, operands)
        case Accumulation():
            return rows.accumulation(call, operands["input"])
        case Gathering():
            return moves.gathering(call, operands)
        case Scattering():
            return moves.scattering(call, operands)
        case ElementGathering():
            return moves.element_gathering(call, operands)
        case ElementScattering():
            return moves.element_scattering(call, operands)
        case Padding():
            return moves.padding(call, operands["input"])
        case Resizing():
            return moves.resizing(call, operands["input"])
        case _:
            raise AssertionError(call)


def convolution(call: Convolution, operands: Mapping[str, Array]) -> Array:
    x, filters = operands["input"].reshape(call.input), operands["filter"].reshape(call.filter)
    if call.scaled:
        scale, shift = (
            operands[name].reshape(-1, *(1,) * len(call.strides)) for name in ("scale", "shift")
        )
        x = x * scale + shift
    if call.relu_first:
        x = np.maximum(x, 0)
    pads = [(0, 0), (0, 0), *zip(call.pads_before, call.pads_after, strict=True)]
    x = np.pad(x, pads)
    result = np.zeros(call.output)
    share, mine = call.output[1] // call.groups, call.filter[1]
    for out in range(call.output[1]):
        first = out // share * mine
        for place in product(*map(range, call.filter[2:])):
            window = _window(call, place, call.output)
            index: tuple[Any, ...] = (out, slice(None), *place)
            pixels = x[(slice(None), slice(first, first + mine), *window)]
            result[:, out] += np.einsum("nc...,c->n...", pixels, filters[index])
    return finished(call, result, operands)


def transposed_convolution(call: TransposedConvolution, operands: Mapping[str, Array]) -> Array:
    """Each pixel of the input is added to those that a convolution would have read for it."""
    x, filters = operands["input"].reshape(call.input), operands["filter"].reshape(call.filter)
    sizes = [
        max(before + size + after, (length - 1) * stride + (reach - 1) * dilation + 1)
        for before, size, after, length, stride, reach, dilation in zip(
            call.pads_before,
            call.output[2:],
            call.pads_after,
            call.input[2:],
            call.strides,
            call.filter[2:],
            call.dilations,
            strict=True,
        )
    ]
    padded = np.zeros((*call.output[:2], *sizes))
    share, mine = call.input[1] // call.groups, call.filter[1]
    for channel in range(call.input[1]):
        first = channel // share * mine
        for place in product(*map(range, call.filter[2:])):
            window = _window(call, place, call.input)
            index: tuple[Any, ...] = (channel, slice(None), *place)
            weights = filters[index].reshape(-1, *(1,) * len(place))
            target = (slice(None), slice(first, first + mine), *window)
            padded[target] += x[:, channel : channel + 1] * weights
    within = zip(call.pads_before, call.output[2:], strict=True)
    cut = tuple(slice(before, before + size) for before, size in within)
    return finished(call, padded[(slice(None), slice(None), *cut)], operands)


def _window(
    call: AnyConvolution, place: tuple[int, ...], counted: tuple[int, ...]
) -> tuple[slice, ...]:
    """The pixels that meet one place of the filter, one for each pixel counted."""
    starts = [p * d for p, d in zip(place, call.dilations, strict=True)]
    return tuple(
        slice(start, start + (size - 1) * stride + 1, stride)
        for start, size, stride in zip(starts, counted[2:], call.strides, strict=True)
    )


def eight_bit_product(call: EightBitProduct, operands: Mapping[str, Array]) -> Array:
    kind = np.float64 if call.a_element == FLOAT8 else np.int64
    a, b = operands["a"].reshape(call.m, call.k).astype(kind), operands["b"].astype(kind)
    if call.a_zero:
        a = a - operands["a_zero"].reshape(1, 1).astype(np.int64)
    if call.b_zeros:
        b = b - operands["b_zero"].reshape(1, -1).astype(np.int64)
    return np.asarray(a @ b).reshape(call.output)


def packed_product(call: PackedProduct, operands: Mapping[str, Array]) -> Array:
    def numbers(of: Array) -> Array:
        """The small numbers in each row of bytes, the lowest bits first."""
        rows = of.reshape(call.n, -1)
        if call.bits == 8:
            return rows.astype(np.int64)
        return np.stack((rows & 15, rows >> 4), axis=-1).reshape(call.n, -1).astype(np.int64)

    packed = numbers(operands["b"]).reshape(call.n, call.blocks, call.block)
    zeros: Array | int = 0 if call.codes else 2 ** (call.bits - 1)
    if call.codes:  # The higher bits of a byte are those of the first.
        packed = np.array(call.codes)[packed.reshape(-1, 2)[:, ::-1].reshape(packed.shape)]
    if call.zeros:
        zeros = operands["zeros"]
        zeros = zeros if call.in_floats else numbers(zeros)[:, : call.blocks]
    scales = operands["scales"].reshape(call.n, call.blocks, 1)
    weights = (packed - np.reshape(zeros, (-1, call.blocks if call.zeros else 1, 1))) * scales
    found = operands["a"].reshape(call.m, call.k) @ weights.reshape(call.n, -1)[:, : call.k].T
    if call.bias:
        found = found + operands["bias"]
    return np.asarray(found).reshape(call.output)


def quantised(call: Quantised, operands: Mapping[str, Array]) -> Array:
    factors = ("input", "filter") if isinstance(call.sums, Convolution) else ("a", "b")
    kind = np.float64 if call.of_float8 else np.int64
    sums = _one(call.sums, {name: operands[name].astype(kind) for name in factors})
    space = len(call.output) - 2 if isinstance(call.sums, Convolution) else 0
    by_channel = {name: operands[name].reshape(-1, *(1,) * space) for name in ("scale", "bias")}
    result = sums * by_channel["scale"] + by_channel["bias"]
    if call.residual:
        result = result + call.factor * operands["residual"].astype(np.float64).reshape(call.output)
    result = ACTIVATIONS[call.activation](result, *call.numbers) * call.step
    if call.element == FLOAT8:
        return np.clip(result, -448, 448).astype(numpy_dtype(FLOAT8)).astype(np.float64)
    if call.element:
        limits = np.iinfo(call.element)
        result = np.clip(np.rint(result), limits.min, limits.max)
    return np.asarray(result)


def matrix_product(call: Product, operands: Mapping[str, Array]) -> Array:
    def matrices(name: str, where: Matrices, rows: int, columns: int) -> Array:
        within = (1, where.line) if where.transposed else (where.line, 1)
        return _strided(operands[name], call, where, (rows, columns), within)

    a, b = matrices("a", call.a, call.m, call.k), matrices("b", call.b, call.k, call.n)
    result = np.full(call.output, np.nan)
    where, residual = (call.m, call.n), operands.get("residual")
    steps = call.result.line, 1
    before = dict(operands)
    if residual is not None:
        before["residual"] = _strided(residual, call, call.result, where, steps)
    _strided(result, call, call.result, where, steps)[...] = finished(
        call, call.alpha * a @ b, before
    )
    return result


def _strided(
    array: Array, call: Product, where: Matrices, shape: tuple[int, int], steps: tuple[int, int]
) -> Array:
    """The matrices of an operand by round and pair, in its own memory."""
    flat = array.reshape(-1)
    assert np.may_share_memory(flat, array)
    size = flat.itemsize
    strides = [size * step for step in (where.round, where.pair, *steps)]
    return as_strided(flat[where.start :], (call.rounds, call.batch, *shape), strides)


def merged_product(call: MergedProduct, operands: Mapping[str, Array]) -> list[Array]:
    found = []
    for at in range(call.count):
        mine = {name: operands[name][at] for name in ("b", "bias") if name in operands}
        found.append(matrix_product(call.product, {"a": operands["a"], **mine}))
    return found


ACTIVATIONS: dict[str, Callable[..., Array]] = {
    "": lambda x: x,
    "Clip": np.clip,
    "Elu": lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x)),
    "Gelu": lambda x: x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2,
    "GeluTanh": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "HardSigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "HardSwish": lambda x, alpha, beta: x * np.clip(alpha * x + beta, 0, 1),
    "LeakyRelu": lambda x, alpha: np.where(x > 0, x, alpha * x),
    "Mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "PRelu": lambda x, slope: np.where(x > 0, x, slope * x),
    "Relu": lambda x: np.maximum(x, 0),
    "Selu": lambda x, alpha, gamma: gamma * np.where(x > 0, x, alpha * np.expm1(x)),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softplus": lambda x: np.log1p(np.exp(x)),
    "Swish": lambda x, alpha: x / (1 + np.exp(-alpha * x)),
    "Tanh": np.tanh,
}


def finished(
    call: AnyConvolution | Product,
    result: Array,
    operands: Mapping[str, Array],
) -> Array:
    """With bias, residual and activation."""
    space = 0 if isinstance(call, Product) else len(call.strides)
    if call.bias:
        result = result + operands["bias"].reshape(-1, *(1,) * space)
    if call.residual:
        factor = call.beta if isinstance(call, Product) else 1.0
        result = result + factor * operands["residual"].reshape(result.shape)
    slopes = [operands["slope"].reshape(-1, *(1,) * space)] if call.activation == "PRelu" else []
    return ACTIVATIONS[call.activation](result, *call.numbers, *slopes)


def pooling(call: Pooling, x: Array) -> Array:
    result = np.zeros(call.output)
    for place in product(*map(range, call.output[2:])):
        found = []
        for step in product(*map(range, call.window)):
            at = tuple(
                p * stride + s * dilation - pad
                for p, s, stride, dilation, pad in zip(
                    place, step, call.strides, call.dilations, call.pads_before, strict=True
                )
            )
            pixel: tuple[Any, ...] = (slice(None), slice(None), *at)
            if all(0 <= a < size for a, size in zip(at, call.input[2:], strict=True)):
                found.append(x[pixel])
        total = np.max(found, axis=0) if call.mode == "max" else np.sum(found, axis=0)
        count = {"max": 1, "average": len(found), "average_padded": prod(call.window)}
        here: tuple[Any, ...] = (slice(None), slice(None), *place)
        result[here] = total / count[call.mode]
    return result


def normalisation(call: Normalisation, x: Array) -> Array:
    before, after = (call.size - 1) // 2, call.size // 2
    squares = np.zeros_like(x)
    for channel in range(call.input[1]):
        near = x[:, max(channel - before, 0) : channel + after + 1]
        squares[:, channel] = (near**2).sum(axis=1)
    return np.asarray(x * (call.bias + call.alpha / call.size * squares) ** -call.beta)
