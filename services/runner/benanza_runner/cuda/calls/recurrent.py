"""Recurrent networks over whole sequences."""

import msgspec

from benanza_runner.cuda.calls.shape import Shape


class Recurrence(msgspec.Struct, frozen=True):
    """One layer of recurrent cells, over `length` steps of `features` numbers.

    `cell` is `LSTM`, `GRU` (whose reset gate comes after the product), `Tanh` or `Relu`;
    `direction` is ONNX's: `forward`, `reverse` or `bidirectional`. Operands have ONNX's shapes
    and its order of gates: `sequence`, `input_weights`, `recurrent_weights`, and where they are
    `bias`, `initial` and `initial_cell`. Results are `outputs`: the hidden states of `all`
    steps, the `last` ones, and the `last_cell` states.
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
        return 2 if self.direction == "bidirectional" else 1

    def shape(self, output: str) -> Shape:
        """Of a result."""
        state = self.directions, self.batch, self.hidden
        return (self.length, *state) if output == "all" else state
