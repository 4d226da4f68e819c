"""What calls mean that move elements, in NumPy."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import (
    ElementGathering,
    ElementScattering,
    Gathering,
    Padding,
    Resizing,
    Scattering,
)


def gathering(call: Gathering, operands: Mapping[str, Array]) -> Array:
    given = operands["input"].reshape(call.batch, *call.named, call.inner)
    tuples = operands["indices"].reshape(-1, len(call.named))
    result = np.zeros((call.batch, call.rows, call.inner))
    for batch in range(call.batch):
        for row in range(call.rows):
            chosen = tuples[row if call.shared else batch * call.rows + row]
            result[batch, row] = given[(batch, *chosen)]
    return result.reshape(call.output)


def scattering(call: Scattering, operands: Mapping[str, Array]) -> Array:
    result = operands["input"].copy().reshape(*call.named, call.inner)
    tuples = operands["indices"].reshape(call.rows, len(call.named))
    for chosen, update in zip(tuples, operands["updates"].reshape(call.rows, -1), strict=True):
        result[tuple(chosen)] = update
    return result.reshape(call.output)


def element_gathering(call: ElementGathering, operands: Mapping[str, Array]) -> Array:
    result = np.zeros(call.output)
    for place in product(*map(range, call.output)):
        there = list(place)
        there[call.axis] = operands["indices"][place]
        result[place] = operands["input"][tuple(there)]
    return result


def element_scattering(call: ElementScattering, operands: Mapping[str, Array]) -> Array:
    result = operands["input"].copy()
    for place in product(*map(range, call.updates)):
        there = list(place)
        there[call.axis] = operands["indices"][place]
        result[tuple(there)] = operands["updates"][place]
    return result


def padding(call: Padding, given: Array) -> Array:
    sizes = zip(call.before, call.input, call.output, strict=True)
    pads = [(before, out - size - before) for before, size, out in sizes]
    sides = zip(pads, call.input, strict=True)
    cut = tuple(slice(max(-a, 0), size - max(-b, 0)) for (a, b), size in sides)
    added = [(max(a, 0), max(b, 0)) for a, b in pads]
    if call.mode == "constant":
        return np.pad(given[cut], added, constant_values=call.value)
    return np.pad(given[cut], added, mode=call.mode)  # type: ignore[call-overload,no-any-return]


def resizing(call: Resizing, given: Array) -> Array:
    """One axis after the other: each is a matrix of the shares of places in the input."""
    result = given
    for axis, (size, out) in enumerate(zip(call.input, call.output, strict=True)):
        shares = np.zeros((out, size))
        for at in range(out):
            x = _coordinate(call, at, axis)
            if call.mode == "nearest":
                shares[at, min(max(int(_rounded(call.rounding, x)), 0), size - 1)] = 1
            elif call.mode == "cubic":
                shares[at] = _cubic(call, x, size)
            else:
                x = min(max(x, 0.0), size - 1.0)
                low = min(int(x), size - 1)
                shares[at, low] += 1 - (x - low)
                shares[at, min(low + 1, size - 1)] += x - low
        result = np.moveaxis(np.tensordot(shares, result, (1, axis)), 0, axis)
    return result


def _cubic(call: Resizing, x: float, size: int) -> Array:
    """The shares of places on an axis; those outside are the edge's."""
    found = np.zeros(size)
    a = call.steepness
    for place in range(int(np.floor(x)) - 1, int(np.floor(x)) + 3):
        t = abs(x - place)
        outer = a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a
        weight = (a + 2) * t**3 - (a + 3) * t**2 + 1 if t <= 1 else outer
        if 0 <= place < size or not call.only_inside:
            found[min(max(place, 0), size - 1)] += weight
    return np.asarray(found / found.sum())


def _coordinate(call: Resizing, at: int, axis: int) -> float:
    size, out, scale = call.input[axis], call.output[axis], call.scales[axis]
    match call.coordinates:
        case "asymmetric":
            return at / scale
        case "align_corners":
            return 0.0 if out == 1 else at * (size - 1) / (out - 1)
        case "half_pixel_symmetric":
            shift = size / 2 * (1 - out / (scale * size))
            return shift + (at + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return (at + 0.5) / scale - 0.5 if out > 1 else 0.0
        case _:
            assert call.coordinates == "half_pixel"
            return (at + 0.5) / scale - 0.5


def _rounded(rounding: str, x: float) -> float:
    found = {
        "floor": np.floor(x),
        "ceil": np.ceil(x),
        "round_prefer_floor": np.ceil(x - 0.5),
        "round_prefer_ceil": np.floor(x + 0.5),
    }
    return float(found[rounding])
