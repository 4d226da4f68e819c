"""What products need of what they are given, where that isn't all.

A recurrent operator that is given no state begins with zeros: its first step needs nothing of the
weights of the recurrence, nor those of the gate that only decides what stays of the state.
"""

from collections.abc import Mapping
from math import prod

from benanza_schemas.layer import OMITTED, Layer, Operator

_GATES = {"DynamicQuantizeLSTM": (3, 4), "GRU": (2, 3), "LSTM": (3, 4), "RNN": (1, 1)}
"""Of how many gates a first step that begins with zeros needs those of the input."""


def needed(layer: Layer, operator: Operator) -> Mapping[int, int]:
    """The elements that are needed at the least, by the tensor's place in the layer; of tensors
    that it doesn't name, all that are touched.
    """
    if operator.op_type == "Gemm" and operator.number("beta", 1.0) == 0.0:
        return dict.fromkeys(operator.inputs[2:], 0)
    if operator.op_type == "Einsum":
        terms = str(operator.attribute("equation")).replace(" ", "").partition("->")[0].split(",")
        # Of a diagonal nothing counts.
        return {
            place: 0
            for place, term in zip(operator.inputs, terms, strict=True)
            if len(set(letters := term.replace("...", ""))) < len(letters)
        }
    first = needed_at_first(layer, operator)
    if first is None or steps(layer, operator) > 1:
        return {}
    return dict.fromkeys(operator.inputs, 0) | {operator.inputs[1]: first}


def needed_at_first(layer: Layer, operator: Operator) -> int | None:
    """How many of its weights the first step of a recurrent operator needs, if it begins with
    zeros; None for others.
    """
    if operator.op_type not in _GATES:
        return None
    states = [place for place in operator.inputs[5:7] if place != OMITTED]
    if len(states) == (2 if operator.op_type.endswith("LSTM") else 1):
        return None
    gates, of_gates = _GATES[operator.op_type]
    return prod(layer.tensors[operator.inputs[1]].shape) * gates // of_gates


def steps(layer: Layer, operator: Operator) -> int:
    """Those of a recurrent operator."""
    return layer.tensors[operator.inputs[0]].shape[1 if operator.integer("layout") else 0]
