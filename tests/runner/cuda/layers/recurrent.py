"""Recurrent layers: each cell, direction and output, and sizes that persistent kernels want."""

import msgspec

from benanza_schemas.identity import canonical
from benanza_schemas.layer import OMITTED, AttributeValue, Layer, Tensor
from tests.runner.cuda.layers.more import version
from tests.runner.layers import floats, operator, weights

GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}
LENGTH, BATCH, FEATURES, HIDDEN = 7, 3, 12, 10


def recurrent(
    op_type: str,
    direction: str = "forward",
    outputs: str = "all last cell",
    *,
    sizes: tuple[int, int, int, int] = (LENGTH, BATCH, FEATURES, HIDDEN),
    bias: bool = True,
    initial: tuple[Tensor, ...] | None = None,
    **more: AttributeValue,
) -> Layer:
    """A layer of one direction or two that gives the outputs named.

    `sizes` are steps, samples, features and hidden states; `initial` is the first states, of
    cells too, or nothing for what the model computes.
    """
    length, batch, features, hidden = sizes
    directions, gates = 2 if direction == "bidirectional" else 1, GATES[op_type]
    state = floats(directions, batch, hidden)
    if initial is None:
        initial = (state,) * (2 if op_type == "LSTM" else 1)
    tensors = [
        floats(length, batch, features),
        weights(directions, gates * hidden, features),
        weights(directions, gates * hidden, hidden),
        *([weights(directions, 2 * gates * hidden)] if bias else []),
        *initial,
    ]
    states = range(len(tensors) - len(initial), len(tensors))
    inputs = (0, 1, 2, 3 if bias else OMITTED, OMITTED, *states)
    shapes = {"all": floats(length, directions, batch, hidden), "last": state, "cell": state}
    written = []
    for name in ("all", "last", "cell") if op_type == "LSTM" else ("all", "last"):
        written.append(len(tensors) if name in outputs.split() else OMITTED)
        if name in outputs.split():
            tensors.append(shapes[name])
    attributes: dict[str, AttributeValue] = {"direction": direction, "hidden_size": hidden}
    attributes |= more
    node = operator(op_type, version(op_type), inputs, tuple(written), "", **attributes)
    made = tuple(index for index in written if index != OMITTED)
    return canonical(Layer(tuple(tensors), (node,), made))


def with_input(op_type: str, slot: int, tensor: Tensor) -> Layer:
    """A layer whose input at this place is another tensor, or one more."""
    layer = recurrent(op_type)
    (node,) = layer.operators
    inputs = [*node.inputs, *(OMITTED,) * (slot + 1 - len(node.inputs))]
    inputs[slot] = len(layer.tensors)
    node = msgspec.structs.replace(node, inputs=tuple(inputs))
    return Layer((*layer.tensors, tensor), (node,), layer.outputs)


LARGE = (6, 8, 128, 128)

RECURRENT = {
    "lstm": recurrent("LSTM"),
    "lstm backwards": recurrent("LSTM", "reverse"),
    "lstm both ways": recurrent("LSTM", "bidirectional"),
    "lstm both ways, one sample": recurrent(
        "LSTM", "bidirectional", sizes=(LENGTH, 1, FEATURES, HIDDEN)
    ),
    "lstm, the last states only": recurrent("LSTM", "bidirectional", "last cell"),
    "lstm, the last cell only": recurrent("LSTM", outputs="cell"),
    "lstm from nothing": recurrent("LSTM", outputs="all", initial=(), bias=False),
    "lstm from weights": recurrent("LSTM", initial=(weights(1, BATCH, HIDDEN),) * 2),
    "lstm for persistent kernels": recurrent("LSTM", sizes=LARGE),
    "gru": recurrent("GRU", linear_before_reset=1),
    "gru backwards": recurrent("GRU", "reverse", linear_before_reset=1),
    "gru both ways": recurrent("GRU", "bidirectional", "all", linear_before_reset=1),
    "gru without bias": recurrent("GRU", bias=False, initial=(), linear_before_reset=1),
    "gru for persistent kernels": recurrent("GRU", sizes=LARGE, linear_before_reset=1),
    "rnn": recurrent("RNN"),
    "rnn both ways": recurrent("RNN", "bidirectional"),
    "rnn with relu": recurrent("RNN", activations=("Relu",)),
    "rnn with relu, backwards": recurrent("RNN", "reverse", "all", activations=("Relu",)),
    "rnn of one step": recurrent("RNN", "bidirectional", sizes=(1, 2, 5, 9)),
}
