"""LinearAttention of ONNX and of ONNX Runtime, whose attributes and inputs mean the same.

Source: the operators' definitions in ONNX, opset 27, and in ONNX Runtime.
"""

from collections.abc import Mapping
from math import sqrt

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import LinearAttention
from benanza_runner.cuda.lowering.written_out.writing import given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer

Lowering = tuple[LinearAttention, dict[str, Array], frozenset[str]]

LINEAR = "LinearAttention"
"""The operator, in ONNX's domain and in `com.microsoft`."""

_PLACES = {"query": 0, "key": 1, "value": 2, "past": 3, "decay": 4, "beta": 5}

_GATED, _DELTA = ("gated", "gated_delta"), ("delta", "gated_delta")
"""The update rules that let the state decay, and those that correct it by what it has already."""


def lower_linear_attention(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    (operator,) = layer.operators
    rule = operator.text("update_rule", "gated_delta")
    read = {"query", "key", "value"}
    read |= {"past"} if given(operator, 3) else set()
    read |= ({"decay"} if rule in _GATED else set()) | ({"beta"} if rule in _DELTA else set())
    lacking = sorted(name for name in read if not given(operator, _PLACES[name]))
    if rule not in ("linear", *_GATED, *_DELTA):
        raise UnsupportedError(f"{LINEAR} by the rule '{rule}' is not supported yet")
    if lacking:
        raise UnsupportedError(f"{LINEAR} by the rule '{rule}' lacks {', '.join(lacking)}")
    places = {name: operator.inputs[place] for name, place in _PLACES.items() if name in read}
    shapes = {name: layer.tensors[place].shape for name, place in places.items()}
    batch, length, wide = shapes["query"]
    heads, query_heads = operator.integer("kv_num_heads"), operator.integer("q_num_heads")
    size, width = wide // query_heads, shapes["value"][-1] // heads
    key_heads = shapes["key"][-1] // size
    if heads % key_heads or max(heads, query_heads) % min(heads, query_heads):
        raise UnsupportedError(f"{LINEAR} whose heads don't share queries or keys equally")
    if operator.integer("state_window", 0):
        # ONNX Runtime's CPU, which checks results, has no states of several tokens either.
        raise UnsupportedError(f"{LINEAR} that keeps the states of several tokens isn't supported")
    call = LinearAttention(
        output=layer.tensors[operator.outputs[0]].shape,
        batch=batch,
        length=length,
        heads=heads,
        query_heads=query_heads,
        key_heads=key_heads,
        size=size,
        width=width,
        scale=operator.number("scale", 0.0) or 1 / sqrt(size),
        gate="" if rule not in _GATED else "head" if shapes["decay"][-1] == heads else "key",
        delta=rule in _DELTA,
        betas=shapes["beta"][-1] if rule in _DELTA else 0,
        past="past" in read,
        results=tuple(operator.outputs.index(index) for index in layer.outputs),
    )
    operands = {name: values[place] for name, place in places.items()}
    fixed = frozenset(name for name, place in places.items() if layer.tensors[place].constant)
    return call, operands, fixed
