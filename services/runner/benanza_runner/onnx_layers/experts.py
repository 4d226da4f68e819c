"""What ONNX Runtime's mixtures of experts compute, in NumPy.

ONNX Runtime's own kernels for CPUs lack the third product and SwiGLU in halves, and round rows to 8
bits before weights of 8 bits. Source: the definitions of the operators in ONNX Runtime.
"""

from collections.abc import Callable, Mapping

import numpy as np

from benanza_runner.arrays import Array
from benanza_schemas.layer import OMITTED, Layer, Operator

_DOMAIN = "com.microsoft"

_PLACES: Mapping[str, tuple[Mapping[str, int], ...]] = {
    "MoE": ({"weights": 2, "bias": 3}, {"weights": 4, "bias": 5}, {"weights": 6, "bias": 7}),
    "QMoE": (
        {"weights": 2, "scales": 3, "bias": 4, "zeros": 11},
        {"weights": 5, "scales": 6, "bias": 7, "zeros": 12},
        {"weights": 8, "scales": 9, "bias": 10, "zeros": 13},
    ),
}
_UP, _DOWN, _THIRD = range(3)

_ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * _sigmoid(x),
    "identity": lambda x: x,
}


def is_mixture(layer: Layer) -> bool:
    """Whether a layer is a MoE or a QMoE alone."""
    first = layer.operators[0]
    return len(layer.operators) == 1 and first.domain == _DOMAIN and first.op_type in _PLACES


def mixture(layer: Layer, values: Mapping[int, Array]) -> Array:
    """The result of a mixture of experts for inputs by position: floats in float32.

    Rows whose logits are equal go to the first of the experts. Weights are unpacked expert by
    expert. What the definition has beside integers (floats of 4 and 8 bits, router_weights, the
    sparse mixer) is not computed: the CUDA runtime has no call for it either.
    """
    (operator,) = layer.operators
    x, logits = (values[index] for index in operator.inputs[:2])
    rows = x.reshape(-1, x.shape[-1])
    shares = _shares(operator, logits)
    result = np.zeros_like(rows)
    for expert in np.flatnonzero(shares.any(axis=0)):
        mine = np.flatnonzero(shares[:, expert])
        inner = _activated(operator, values, rows[mine], int(expert))
        found = _product(operator, values, inner, int(expert), _DOWN)
        result[mine] += shares[mine, expert, None] * found
    return np.asarray(result.reshape(x.shape))


def _shares(operator: Operator, logits: Array) -> Array:
    """What each expert has of each row: a softmax, and zeros where it isn't chosen."""
    top_k = max(1, operator.integer("k", 1))
    chosen = np.argsort(-logits, axis=1, kind="stable")[:, :top_k]
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    of_chosen = np.take_along_axis(powers, chosen, axis=1)
    over = of_chosen if operator.integer("normalize_routing_weights", 0) == 1 else powers
    shares: Array = np.zeros_like(powers)
    np.put_along_axis(shares, chosen, of_chosen / over.sum(axis=1, keepdims=True), axis=1)
    return shares


def _activated(operator: Operator, values: Mapping[int, Array], rows: Array, expert: int) -> Array:
    found = _product(operator, values, rows, expert, _UP)
    third = _has(operator, _PLACES[operator.op_type][_THIRD]["weights"])
    linear = _product(operator, values, rows, expert, _THIRD) if third else None
    kind = operator.text("activation_type", "relu")
    if kind != "swiglu":
        activated = _ACTIVATIONS[kind](found)
        return activated if linear is None else activated * linear
    if linear is None:
        interleaved = operator.integer("swiglu_fusion", 0) == 1
        half = found.shape[1] // 2
        gate = found[:, ::2] if interleaved else found[:, :half]
        linear = found[:, 1::2] if interleaved else found[:, half:]
    else:
        gate = found
    limit = operator.number("swiglu_limit", np.inf)
    gate, linear = np.minimum(gate, limit), np.clip(linear, -limit, limit)
    swish = gate * _sigmoid(operator.number("activation_alpha", 1.0) * gate)
    return np.asarray(swish * (linear + operator.number("activation_beta", 0.0)))


def _product(
    operator: Operator, values: Mapping[int, Array], rows: Array, expert: int, product: int
) -> Array:
    """Of rows with the weights of an expert, with its bias."""
    places = _PLACES[operator.op_type][product]
    read = {
        name: values[operator.inputs[place]][expert]
        for name, place in places.items()
        if _has(operator, place)
    }
    weights = read["weights"]
    if operator.op_type == "QMoE":
        own = operator.integer(f"fc{product + 1}_expert_weight_bits", 0)
        weights = _dequantised(read, own or operator.integer("expert_weight_bits", 4))
    return np.asarray(rows @ weights.T + read.get("bias", np.float32(0)))


def _dequantised(read: Mapping[str, Array], bits: int) -> Array:
    """An expert's weights, which have a scale for each row or for each block of a row."""
    numbers = _unpacked(read["weights"], bits)
    n, k = numbers.shape
    scales = read["scales"].reshape(n, -1)
    zeros = np.full(scales.shape, 2.0 ** (bits - 1), np.float32)
    if "zeros" in read:
        # Of rows with one scale, they are packed one after another.
        by_row = read["zeros"].ndim == 1
        packed = read["zeros"].reshape(1 if by_row else n, -1)
        wanted = n if by_row else scales.shape[1]
        zeros = _unpacked(packed, bits)[:, :wanted].reshape(scales.shape)
    blocks = numbers.reshape(n, scales.shape[1], -1) - zeros[..., None]
    return np.asarray((blocks * scales[..., None]).reshape(n, k))


def _unpacked(rows: Array, bits: int) -> Array:
    """The numbers in rows of bytes as floats, the lowest bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    numbers = rows[..., None] >> shifts & ((1 << bits) - 1)
    return numbers.reshape(len(rows), -1).astype(np.float32)


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(x / 2)))


def _has(operator: Operator, place: int) -> bool:
    return place < len(operator.inputs) and operator.inputs[place] != OMITTED
