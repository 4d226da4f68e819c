"""What a mixture of experts means, in NumPy."""

from collections.abc import Callable, Mapping

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import ExpertMatrices, MixtureOfExperts


def mixture_of_experts(
    call: MixtureOfExperts,
    operands: Mapping[str, Array],
    activations: Mapping[str, Callable[..., Array]],
) -> Array:
    x = operands["input"].reshape(call.rows, call.up.k)
    logits = operands["router"].reshape(call.rows, call.experts)
    result = np.zeros((call.rows, call.down.n))
    for row in range(call.rows):
        chosen = sorted(range(call.experts), key=lambda e: (-logits[row, e], e))[: call.top_k]
        over = chosen if call.normalised else range(call.experts)
        total = sum(np.exp(logits[row, e]) for e in over)
        for expert in chosen:
            inner = product(call.up, "up", operands, expert, x[row])
            if call.gated:
                gate, linear = inner[::2], inner[1::2]
                gated = activations[call.activation](np.minimum(gate, call.limit), *call.numbers)
                inner = gated * (np.clip(linear, -call.limit, call.limit) + call.beta)
            else:
                inner = activations[call.activation](inner, *call.numbers)
            share = np.exp(logits[row, expert]) / total
            result[row] += share * product(call.down, "down", operands, expert, inner)
    return result.reshape(call.output)


def product(
    matrices: ExpertMatrices, name: str, operands: Mapping[str, Array], expert: int, x: Array
) -> Array:
    """Of a vector with the matrix of an expert."""
    n, k = matrices.n, matrices.k
    weights = operands[name][expert]
    if matrices.bits:
        scales = operands[f"{name}_scales"][expert].reshape(n, matrices.blocks)
        zeros = np.full(scales.shape, 2 ** (matrices.bits - 1))
        if matrices.zeros:
            packed = operands[f"{name}_zeros"][expert].reshape(n, -1)
            zeros = numbers(packed, matrices.bits)[:, : matrices.blocks]
        found = numbers(weights.reshape(n, -1), matrices.bits)
        weights = (found - np.repeat(zeros, matrices.block, 1)) * np.repeat(
            scales, matrices.block, 1
        )
    made = weights.reshape(n, k) @ x
    return np.asarray(made + operands[f"{name}_bias"][expert] if matrices.bias else made)


def numbers(rows: Array, bits: int) -> Array:
    """The small numbers in each row of bytes, the lowest bits first."""
    if bits == 8:
        return rows.astype(np.int64)
    return np.stack((rows & 15, rows >> 4), axis=-1).reshape(len(rows), -1).astype(np.int64)
