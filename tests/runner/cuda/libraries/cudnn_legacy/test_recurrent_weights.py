"""Weights go where cuDNN wants them: a network by its formulas is one by ONNX's."""

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Recurrence
from benanza_runner.cuda.libraries.cudnn_legacy.recurrent_weights import linear_layers
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import reference
from tests.runner.cuda.in_numpy.recurrent import CELLS, Cell, Parts, sigmoid, stepped
from tests.runner.cuda.layers.recurrent import RECURRENT


def lstm(x: Parts, r: Parts, h: Array, c: Array) -> tuple[Array, Array]:
    """Input, forget, new memory, output: linear layers 0 to 3, and 4 to 7."""
    i, f, new, o = (a + b for a, b in zip(x, r, strict=True))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
    return sigmoid(o) * np.tanh(c), c


def gru(x: Parts, r: Parts, h: Array, c: Array) -> tuple[Array, Array]:
    """Reset, update, new memory: linear layers 0 to 2, and 3 to 5."""
    reset, update = sigmoid(x[0] + r[0]), sigmoid(x[1] + r[1])
    return (1 - update) * np.tanh(x[2] + reset * r[2]) + update * h, c


CUDNN: dict[str, tuple[int, Cell]] = CELLS | {"LSTM": (4, lstm), "GRU": (3, gru)}
"""Cells as the API reference of cuDNN describes them under `cudnnRNNMode_t`, with the gates in
the order of `cudnnGetRNNWeightParams`."""


@pytest.mark.parametrize("name", list(RECURRENT))
def test_a_network_with_the_weights_where_cudnn_wants_them(name: str) -> None:
    layer = RECURRENT[name]
    given = reference(layer, "fp32", threads=1)
    lowered = lower(layer, given.values)
    call, operands = lowered.call, lowered.operands
    assert isinstance(call, Recurrence)
    space = {}
    for each in linear_layers(call):
        matrix = operands[each.matrix][each.direction, each.row : each.row + call.hidden]
        rows = slice(each.bias_row, each.bias_row + call.hidden)
        bias = operands["bias"][each.direction, rows] if call.bias else 0.0
        space[each.direction, each.number] = matrix, bias

    def linear(direction: int, side: int, gate: int, vector: Array) -> Array:
        matrix, bias = space[direction, side * CUDNN[call.cell][0] + gate]
        return np.asarray(vector @ matrix.T + bias)

    for result, expected in zip(stepped(call, operands, linear, CUDNN), given.outputs, strict=True):
        np.testing.assert_allclose(result, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("name", list(RECURRENT))
def test_every_weight_goes_to_one_place(name: str) -> None:
    layer = RECURRENT[name]
    lowered = lower(layer, reference(layer, "fp32", threads=1).values)
    call = lowered.call
    assert isinstance(call, Recurrence)
    found = list(linear_layers(call))
    gates = CUDNN[call.cell][0]
    assert len({(each.direction, each.number) for each in found}) == len(found)
    assert {each.number for each in found} == set(range(2 * gates))
    for matrix in ("input_weights", "recurrent_weights"):
        rows = [each.row for each in found if (each.direction, each.matrix) == (0, matrix)]
        assert sorted(rows) == list(range(0, gates * call.hidden, call.hidden))
    biases = [each.bias_row for each in found if each.direction == 0]
    assert sorted(biases) == list(range(0, 2 * gates * call.hidden, call.hidden))
