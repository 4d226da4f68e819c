"""Recurrent networks over whole sequences, and attention that keeps a state of one size."""

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


class LinearAttention(msgspec.Struct, frozen=True):
    """Attention without a softmax, whose keys and values are summed up in a state as they come.

    Each of `heads` in each of `batch` has a state of `size` rows, one for each element of a key,
    and `width` columns, one for each element of a value. For each of `length` tokens in their order

        state = decay · state + key ⊗ (beta · (value - stateᵀ · key))
        result = scale · stateᵀ · query

    where the state within the brackets has decayed already. Without `delta` there are neither beta
    nor what is subtracted, without `gate` there is no decay.

    Operands: `query`, `key` and `value` have a row for each token in each of `batch`, of
    `query_heads` and `key_heads` times `size`, and of `heads` times `width` elements. Where there
    are fewer queries or keys than heads, each serves equally many heads that follow each other;
    where there are more queries, equally many of them read each state. `past` is the state from
    before, which is zero if there is no `past`. `decay` has logarithms: a row of one for each head
    if `gate` is `head`, of one for each row of each head's state if it is `key`. `beta` has
    rows of `betas` elements: as many as heads, or one for all.

    `results` says which result is what: 0 has a row for each token of as many heads as there are
    queries or states, whichever are more; 1 are the states behind the last token, by batch, head,
    row and column, as `past` has them. `output` is the shape of result 0.
    """

    output: Shape
    batch: int
    length: int
    heads: int
    query_heads: int
    key_heads: int
    size: int
    width: int
    scale: float
    gate: str
    delta: bool
    betas: int
    past: bool
    results: Shape

    @property
    def state(self) -> Shape:
        """The shape of the states."""
        return self.batch, self.heads, self.size, self.width
