"""Where cuDNN wants the weights of recurrent cells, which ONNX has in another order.

cuDNN counts linear layers: those from the input by gate, then those from the hidden state. Source:
`cudnnGetRNNWeightParams` in its API reference.
"""

from collections.abc import Iterator
from typing import NamedTuple

from benanza_runner.cuda.calls import Recurrence

GATES = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "Tanh": (0,), "Relu": (0,)}
"""For each gate in cuDNN's order, its place in ONNX's order.

cuDNN has input, forget, cell and output where ONNX has input, output, forget and cell; and
reset, update and new where ONNX has update, reset and new.
"""


class LinearLayer(NamedTuple):
    """A linear layer of cuDNN's, and its rows in the operands.

    It has as many rows as there are hidden states: those from `row` of the operand `matrix` of this
    direction, and the elements from `bias_row` of `bias`.
    """

    direction: int
    number: int
    matrix: str
    row: int
    bias_row: int


def linear_layers(call: Recurrence) -> Iterator[LinearLayer]:
    """All linear layers of a call. A direction is what cuDNN calls a pseudo-layer."""
    gates = GATES[call.cell]
    for direction in range(call.directions):
        for side, matrix in enumerate(("input_weights", "recurrent_weights")):
            for place, gate in enumerate(gates):
                yield LinearLayer(
                    direction=direction,
                    number=side * len(gates) + place,
                    matrix=matrix,
                    row=gate * call.hidden,
                    bias_row=(side * len(gates) + gate) * call.hidden,
                )
