"""Recurrent networks over whole sequences."""

import msgspec

from benanza_runner.cuda.calls.shape import Shape


class Recurrence(msgspec.Struct, frozen=True):
    """One layer of recurrent cells, over `length` steps of `features` numbers.

    `cell` is `LSTM`, `GRU` (whose reset gate comes after the product), `Tanh` or `Relu`;
    `direction` is ONNX's: `forward`, `reverse` or `bidirectional`. Operands have ONNX's shapes
    and its order of gates: `sequence`, `input_weights`, `recurrent_weights`, and if they are set
    `bias`, `initial` and `initial_cell`. Results are `outputs`: the hidden states of `all`
    steps, the `last` hidden states, and the `last_cell` states.
    """

    cell: str
    direction: str
    length: int
    batch: int
    features: int
    hidden: int
    outputs: tuple[str, ...]
    bias: bool = False
    initial: bool = False
    initial_cell: bool = False

    @property
    def directions(self) -> int:
        """How many directions the network goes."""
        return 2 if self.direction == "bidirectional" else 1

    def shape(self, output: str) -> Shape:
        """The shape of a result, one of `outputs`."""
        state = self.directions, self.batch, self.hidden
        return (self.length, *state) if output == "all" else state
