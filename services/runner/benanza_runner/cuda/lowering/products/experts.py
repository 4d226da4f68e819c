"""Mixtures of experts: ONNX Runtime's MoE and QMoE.

Source: the definitions of the operators in ONNX Runtime. That a third product is the linear factor
of any activation is what its kernels for GPUs do; the definition says so of SwiGLU.
"""

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

import msgspec
import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import ExpertMatrices, MixtureOfExperts
from benanza_runner.cuda.lowering.integers.packed_product import BITS
from benanza_runner.cuda.lowering.products.activations import LIMIT
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

Lowering = tuple[MixtureOfExperts, dict[str, Array], frozenset[str]]

PLACES: Mapping[str, tuple[dict[str, int], ...]] = {
    "MoE": (
        {"": 2, "bias": 3},
        {"": 4, "bias": 5},
        {"": 6, "bias": 7},
    ),
    "QMoE": (
        {"": 2, "scales": 3, "bias": 4, "zeros": 11},
        {"": 5, "scales": 6, "bias": 7, "zeros": 12},
        {"": 8, "scales": 9, "bias": 10, "zeros": 13},
    ),
}
"""By operator, the places of the weights and of what belongs to them, for the three products."""

EXPERTS = frozenset(PLACES)
"""The operators, in the domain `com.microsoft`."""

WIDE = 8
"""Rows are read by so many elements, and packed weights by 128 bits."""

MOST_EXPERTS, MOST_CHOSEN = 1024, 32
"""What the kernels that choose are made for."""

_ACTIVATIONS = {"relu": "Relu", "gelu": "GeluTanh", "silu": "Swish", "identity": ""}

CONCATENATED = 2
"""Of `swiglu_fusion`: rows of gates, and then those of linears."""

_ROUTER_WEIGHTS = 14


class _Weights(NamedTuple):
    matrices: ExpertMatrices
    operands: dict[str, Array]


def lower_experts(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call for MoE or QMoE, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    _check(operator)
    x, router = (layer.tensors[index] for index in operator.inputs[:2])
    experts, top_k = router.shape[-1], max(1, operator.integer("k", 1))
    if experts > MOST_EXPERTS or top_k > min(MOST_CHOSEN, experts):
        raise _refused(operator, f"{top_k} of {experts} experts")
    kind = operator.text("activation_type", "relu")
    has_third = _has(operator, PLACES[operator.op_type][2][""])
    swiglu = kind == "swiglu"
    # Other activations ignore it: it says where SwiGLU's two products are.
    fusion = operator.integer("swiglu_fusion", 0) if swiglu else 0
    if fusion not in (0, 1, CONCATENATED) or (swiglu and has_third == (fusion > 0)):
        raise _refused(operator, f"swiglu_fusion {fusion} and these products")
    up = _weights(layer, values, 0)
    if has_third:
        up = _in_pairs(operator, up, _weights(layer, values, 2))
    elif fusion == CONCATENATED:
        up = _halves_in_pairs(up)
    down = _weights(layer, values, 1)
    activation = "Swish" if swiglu else _ACTIVATIONS[kind]
    alpha = operator.number("activation_alpha", 1.0) if swiglu else 1.0
    gated = has_third or swiglu
    call = MixtureOfExperts(
        output=layer.tensors[layer.outputs[0]].shape,
        rows=prod(x.shape[:-1]),
        experts=experts,
        top_k=top_k,
        up=up.matrices,
        down=down.matrices,
        activation=activation,
        numbers=(alpha,) if activation == "Swish" else (),
        gated=gated,
        beta=operator.number("activation_beta", 0.0) if swiglu else 0.0,
        limit=operator.number("swiglu_limit", LIMIT) if swiglu else LIMIT,
        normalised=operator.integer("normalize_routing_weights", 0) == 1,
    )
    if up.matrices.k % WIDE or down.matrices.k % WIDE:
        raise _refused(operator, f"rows that are no multiple of {WIDE} long")
    operands = {"input": values[operator.inputs[0]], "router": values[operator.inputs[1]]}
    fixed = {}
    for name, each in (("up", up), ("down", down)):
        for part, array in each.operands.items():
            fixed[f"{name}_{part}" if part else name] = array
    return call, operands | fixed, frozenset(fixed)


def _check(operator: Operator) -> None:
    """Raises `UnsupportedError` for what no kernel here does."""
    kind = operator.text("activation_type", "relu")
    if kind != "swiglu" and kind not in _ACTIVATIONS:
        raise _refused(operator, f"the activation {kind}")
    if operator.integer("use_sparse_mixer", 0):
        raise _refused(operator, "use_sparse_mixer")
    if operator.op_type == "QMoE":
        if operator.text("quant_type", "int") != "int":
            raise _refused(operator, f"weights of {operator.text('quant_type', 'int')}")
        if _has(operator, _ROUTER_WEIGHTS):
            raise _refused(operator, "router_weights")
        if operator.integer("weights_prepacked", -1) == 1:
            raise _refused(operator, "weights_prepacked")
        if any(place != OMITTED for place in operator.inputs[_ROUTER_WEIGHTS + 1 :]):
            raise _refused(operator, "scales of activations")


def _weights(layer: Layer, values: Mapping[int, Array], product: int) -> _Weights:
    """The weights of the first, second or third product."""
    (operator,) = layer.operators
    places = PLACES[operator.op_type][product]
    found = {
        name: operator.inputs[place] for name, place in places.items() if _has(operator, place)
    }
    if not all(layer.tensors[index].constant for index in found.values()):
        raise _refused(operator, "computed weights")
    operands = {name: values[index] for name, index in found.items()}
    experts, n, last = operands[""].shape
    if operator.op_type == "MoE":
        return _Weights(ExpertMatrices(n, last, bias="bias" in found), operands)
    bits = operator.integer(f"fc{product + 1}_expert_weight_bits", 0) or operator.integer(
        "expert_weight_bits", 4
    )
    if bits not in BITS:
        raise _refused(operator, f"weights of {bits} bits")
    if "scales" not in found:
        raise _refused(operator, "no scales")
    k = last * 8 // bits
    block = operator.integer("block_size", 0)
    if "zeros" in found and block <= 0:
        operands["zeros"] = _a_byte_each(operands["zeros"], n, bits)
    block = block if block > 0 else k
    if block * bits % 128 or k % block:
        raise _refused(operator, f"blocks of {block} weights of {bits} bits")
    matrices = ExpertMatrices(n, k, bits, block, "zeros" in found, "bias" in found)
    if operands["scales"].size != experts * n * matrices.blocks:
        raise _refused(operator, "scales of another size")
    operands["scales"] = operands["scales"].reshape(experts, n, matrices.blocks)
    return _Weights(matrices, operands)


def _a_byte_each(zeros: Array, n: int, bits: int) -> Array:
    """The zero points of n columns, which are packed one after another, in bytes of their own."""
    if bits == 8:
        return zeros[:, :n, None]
    both = np.stack((zeros & 15, zeros >> 4), axis=-1)
    return both.reshape(len(zeros), -1)[:, :n, None]


def _in_pairs(operator: Operator, gates: _Weights, linears: _Weights) -> _Weights:
    """Rows of both in turn."""
    if gates.matrices != linears.matrices:
        raise _refused(operator, "a third product unlike the first")
    return _interleaved(gates.matrices, gates.operands, linears.operands)


def _halves_in_pairs(up: _Weights) -> _Weights:
    """Rows of the first half and of the second in turn."""
    n = up.matrices.n // 2
    first, second = (
        {name: array[:, half] for name, array in up.operands.items()}
        for half in (slice(None, n), slice(n, None))
    )
    return _interleaved(msgspec.structs.replace(up.matrices, n=n), first, second)


def _interleaved(
    of: ExpertMatrices, gates: dict[str, Array], linears: dict[str, Array]
) -> _Weights:
    operands = {}
    for name, gate in gates.items():
        both = np.stack((gate, linears[name]), axis=2)
        operands[name] = both.reshape(len(gate), 2 * of.n, *gate.shape[2:])
    return _Weights(msgspec.structs.replace(of, n=2 * of.n), operands)


def _has(operator: Operator, place: int) -> bool:
    return place < len(operator.inputs) and operator.inputs[place] != OMITTED


def _refused(operator: Operator, what: str) -> UnsupportedError:
    return UnsupportedError(f"a {operator.op_type} with {what} is not supported yet")
