"""Recurrent operators. Those that cuDNN's cells don't compute are refused here."""

from collections.abc import Callable, Mapping
from math import inf

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Recurrence
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

Lowering = tuple[Call, dict[str, Array]]
Lower = Callable[[Layer, Mapping[int, Array]], Lowering]

SLOTS = {
    0: "sequence",
    1: "input_weights",
    2: "recurrent_weights",
    3: "bias",
    5: "initial",
    6: "initial_cell",
}
"""Operands by the place of the input."""

LENGTHS, PEEPHOLES = 4, 7
WEIGHTS = (1, 2, 3)
OUTPUTS = ("all", "last", "last_cell")

ACTIVATIONS = {"GRU": ("sigmoid", "tanh"), "LSTM": ("sigmoid", "tanh", "tanh")}
"""Of cells that have no others, for one direction."""

PLAIN_CELLS = {"relu": "Relu", "tanh": "Tanh"}
"""Of RNN, by its activation."""


def _recurrence(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    operator = layer.operators[0]
    direction = operator.text("direction", "forward")
    used = {slot for slot, index in enumerate(operator.inputs) if index != OMITTED}
    _refuse(layer, operator, used)
    length, batch, features = layer.tensors[operator.inputs[0]].shape
    call = Recurrence(
        cell=_cell(operator, 2 if direction == "bidirectional" else 1),
        direction=direction,
        length=length,
        batch=batch,
        features=features,
        hidden=layer.tensors[operator.inputs[2]].shape[-1],
        outputs=tuple(OUTPUTS[operator.outputs.index(index)] for index in layer.outputs),
        bias=3 in used,
        initial=5 in used,
        initial_cell=6 in used,
    )
    operands = {SLOTS[slot]: values[operator.inputs[slot]] for slot in sorted(used)}
    return call, operands


def _refuse(layer: Layer, operator: Operator, used: set[int]) -> None:
    """Raises `UnsupportedError` for networks that neither cuDNN nor the runner runs."""
    op = operator.op_type
    element(layer.tensors[operator.inputs[0]].dtype)
    if operator.integer("layout", 0):
        raise UnsupportedError(f"{op} with the batch first: there is no reference to check it with")
    if LENGTHS in used:
        raise UnsupportedError(
            f"{op} over sequences with lengths of their own is not supported yet"
        )
    if PEEPHOLES in used:
        raise UnsupportedError(f"{op} with peepholes, which cuDNN lacks")
    if operator.number("clip", inf) != inf:
        raise UnsupportedError(f"{op} that clips before its activations: cuDNN clips the cell only")
    if operator.integer("input_forget", 0):
        raise UnsupportedError(f"{op} with input and forget gate in one, which cuDNN lacks")
    if op == "GRU" and not operator.integer("linear_before_reset", 0):
        raise UnsupportedError("GRU that resets before the product: cuDNN does it after it")
    if any(not layer.tensors[operator.inputs[slot]].constant for slot in used & set(WEIGHTS)):
        raise UnsupportedError(f"{op} whose weights are computed is not supported yet")


def _cell(operator: Operator, directions: int) -> str:
    """The call's cell. ONNX names activations in upper or lower case, direction by direction."""
    op = operator.op_type
    given = tuple(name.lower() for name in operator.texts("activations"))
    if op in ACTIVATIONS:
        if given and given != ACTIVATIONS[op] * directions:
            raise UnsupportedError(f"{op} with {', '.join(given)}: cuDNN has sigmoid and tanh only")
        return op
    # The standard's default names two, whatever the direction.
    activations = set(given[:directions]) or {"tanh"}
    if len(activations) > 1 or not activations <= PLAIN_CELLS.keys():
        raise UnsupportedError(f"RNN with {', '.join(given)}: cuDNN has one of tanh and relu")
    return PLAIN_CELLS[activations.pop()]


RECURRENT: dict[str, Lower] = {"GRU": _recurrence, "LSTM": _recurrence, "RNN": _recurrence}
