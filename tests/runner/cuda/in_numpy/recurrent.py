"""What recurrent calls mean, in NumPy: cells as ONNX's operators describe them."""

from collections.abc import Callable, Mapping

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import LinearAttention, Recurrence

Parts = list[Array]
Cell = Callable[[Parts, Parts, Array, Array], tuple[Array, Array]]
"""What each gate gets of the input, and of the hidden state; the states of hidden and cell."""


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def lstm(x: Parts, r: Parts, h: Array, c: Array) -> tuple[Array, Array]:
    """Input, output, forget, cell."""
    i, o, f, g = (a + b for a, b in zip(x, r, strict=True))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(x: Parts, r: Parts, h: Array, c: Array) -> tuple[Array, Array]:
    """Update, reset, hidden, the latter reset after its product."""
    z = sigmoid(x[0] + r[0])
    new = np.tanh(x[2] + sigmoid(x[1] + r[1]) * r[2])
    return (1 - z) * new + z * h, c


def tanh(x: Parts, r: Parts, h: Array, c: Array) -> tuple[Array, Array]:
    return np.tanh(x[0] + r[0]), c


def relu(x: Parts, r: Parts, h: Array, c: Array) -> tuple[Array, Array]:
    return np.maximum(x[0] + r[0], 0), c


CELLS: dict[str, tuple[int, Cell]] = {
    "LSTM": (4, lstm),
    "GRU": (3, gru),
    "Tanh": (1, tanh),
    "Relu": (1, relu),
}
"""Gates, and a step."""


def recurrence(call: Recurrence, operands: Mapping[str, Array]) -> list[Array]:
    gates, _ = CELLS[call.cell]
    none = np.zeros((call.directions, 2 * gates * call.hidden))
    bias = operands["bias"] if call.bias else none

    def linear(direction: int, side: int, gate: int, vector: Array) -> Array:
        name = ("input_weights", "recurrent_weights")[side]
        rows = slice(gate * call.hidden, (gate + 1) * call.hidden)
        shift = side * gates * call.hidden
        mine = bias[direction, shift + rows.start : shift + rows.stop]
        return np.asarray(vector @ operands[name][direction, rows].T + mine)

    return stepped(call, operands, linear, CELLS)


def stepped(
    call: Recurrence,
    operands: Mapping[str, Array],
    linear: Callable[[int, int, int, Array], Array],
    cells: Mapping[str, tuple[int, Cell]],
) -> list[Array]:
    """The results, with what `linear` makes of a vector, by direction, side (0 is the input's,
    1 that of the hidden state) and gate.
    """
    gates, step = cells[call.cell]
    shape = call.directions, call.batch, call.hidden
    zeros = np.zeros(shape)
    h = (operands["initial"] if call.initial else zeros).copy()
    c = (operands["initial_cell"] if call.initial_cell else zeros).copy()
    states = np.zeros((call.length, *shape))
    for direction in range(call.directions):
        backwards = direction == 1 or call.direction == "reverse"
        for at in reversed(range(call.length)) if backwards else range(call.length):
            x = [linear(direction, 0, gate, operands["sequence"][at]) for gate in range(gates)]
            r = [linear(direction, 1, gate, h[direction]) for gate in range(gates)]
            h[direction], c[direction] = step(x, r, h[direction], c[direction])
            states[at, direction] = h[direction]
    found = {"all": states, "last": h, "last_cell": c}
    return [found[name] for name in call.outputs]


def linear_attention(call: LinearAttention, operands: Mapping[str, Array]) -> list[Array]:
    """Token after token, and head after head."""
    repeats = max(call.heads, call.query_heads)
    result = np.zeros((call.batch, call.length, repeats, call.width))
    states = np.zeros(call.state)
    before = operands["past"] if call.past else states
    at = (call.batch, call.length)
    query = operands["query"].reshape(*at, call.query_heads, call.size)
    key = operands["key"].reshape(*at, call.key_heads, call.size)
    value = operands["value"].reshape(*at, call.heads, call.width)
    decay = operands["decay"].reshape(*at, call.heads, -1) if call.gate else None
    beta = operands["beta"].reshape(*at, call.betas) if call.delta else None
    for item in range(call.batch):
        for head in range(call.heads):
            state = before[item, head].astype(np.float64)
            for token in range(call.length):
                k = key[item, token, head * call.key_heads // call.heads]
                new = value[item, token, head]
                if decay is not None:
                    state = np.exp(decay[item, token, head])[:, None] * state
                if beta is not None:
                    new = beta[item, token, head % call.betas] * (new - state.T @ k)
                state = state + np.outer(k, new)
                for reader in range(repeats):
                    if reader * call.heads // repeats == head:
                        q = query[item, token, reader * call.query_heads // repeats]
                        result[item, token, reader] = call.scale * (state.T @ q)
            states[item, head] = state
    found = result.reshape(call.output), states
    return [found[number] for number in call.results]
