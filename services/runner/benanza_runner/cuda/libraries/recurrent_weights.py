"""Where cuDNN wants the weights of recurrent cells that ONNX has in an order of its own.

cuDNN counts linear layers: those from the input by gate, then those from the hidden state. See
`cudnnGetRNNWeightParams` in its API reference.
"""

from collections.abc import Iterator
from typing import NamedTuple

from benanza_runner.cuda.calls import Recurrence

GATES = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "Tanh": (0,), "Relu": (0,)}
"""For each gate in cuDNN's order its place in ONNX's.

cuDNN has input, forget, cell and output where ONNX has input, output, forget and cell; and
reset, update and new where ONNX has update, reset and new.
"""


class LinearLayer(NamedTuple):
    """A linear layer of cuDNN's, and its rows in the operands.

    Rows from `row` of the operand `matrix` of this direction, as many as there are hidden
    states; and as many elements of `bias`, from `bias_row`.
    """

    direction: int
    number: int
    matrix: str
    row: int
    bias_row: int


def linear_layers(call: Recurrence) -> Iterator[LinearLayer]:
    """All linear layers of a call; directions are what cuDNN calls pseudo-layers."""
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
