"""Steps in memory say where elements are, whatever was done to a tensor's shape."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.arrays import Array
from benanza_runner.cuda.lowering.strided import contiguous, reshaped, steps, strided
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import AttributeValue, Layer, Operator, Tensor
from tests.runner.layers import floats, operator

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def longs(*numbers: int) -> Tensor:
    """Whole numbers that a layer knows."""
    value = np.array(numbers, np.int64).tobytes()
    return Tensor("int64", (len(numbers),), constant=True, value=value)


class Moves:
    """A layer of operators that only move, and what NumPy makes of the same."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.values = np.arange(prod(shape)).reshape(shape)
        self.tensors = [floats(*shape)]
        self.operators: list[Operator] = []
        self.last = 0
        self.copied = False

    def add(
        self,
        op_type: str,
        values: Array,
        *told: tuple[int, ...],
        **attributes: AttributeValue,
    ) -> None:
        """One more operator, which also reads these numbers, and its result."""
        inputs = [self.last]
        for numbers in told:
            self.tensors.append(longs(*numbers))
            inputs.append(len(self.tensors) - 1)
        self.tensors.append(floats(*values.shape))
        self.last = len(self.tensors) - 1
        self.operators.append(operator(op_type, 13, tuple(inputs), (self.last,), "", **attributes))
        self.values = values

    def layer(self) -> Layer:
        return Layer(tuple(self.tensors), tuple(self.operators), (self.last,))


def draw(moves: Moves, data: st.DataObject) -> None:
    """One more operator of any kind."""
    values = moves.values
    axis = data.draw(st.integers(0, max(values.ndim - 1, 0)))
    kind = data.draw(
        st.sampled_from("Transpose Reshape Slice Split Gather Unsqueeze Squeeze Expand".split())
    )
    if kind == "Unsqueeze":
        moves.add(kind, np.expand_dims(values, axis), (axis,))
    elif kind == "Reshape":
        cut = data.draw(st.integers(0, values.ndim))
        found = values.reshape((prod(values.shape[:cut]), *values.shape[cut:]))
        moves.copied |= not np.may_share_memory(found, values)
        moves.add(kind, found, (0,))
    elif values.ndim == 0:
        return
    elif kind == "Transpose":
        order = tuple(data.draw(st.permutations(range(values.ndim))))
        moves.add(kind, values.transpose(order), perm=order)
    elif kind == "Slice":
        start = data.draw(st.integers(0, values.shape[axis] - 1))
        step = data.draw(st.integers(1, 3))
        there = (slice(None),) * axis
        found = values[(*there, slice(start, 99, step))]
        moves.add(kind, found, (start,), (99,), (axis - values.ndim,), (step,))
    elif kind == "Gather":
        place = data.draw(st.integers(-values.shape[axis], values.shape[axis] - 1))
        moves.tensors.append(Tensor("int64", (), constant=True, value=np.int64(place).tobytes()))
        first = place % values.shape[axis]
        found = values[(*(slice(None),) * axis, slice(first, first + 1))].squeeze(axis)
        moves.tensors.append(floats(*found.shape))
        last, moves.last = moves.last, len(moves.tensors) - 1
        inputs = last, moves.last - 1
        moves.operators.append(operator(kind, 13, inputs, (moves.last,), axis=axis))
        moves.values = found
    elif kind == "Split" and values.shape[axis] > 1:
        one, second = np.split(values, [1], axis)
        moves.add(kind, one, axis=axis)
        moves.tensors.append(floats(*second.shape))
        split = moves.operators.pop()
        moves.last = len(moves.tensors) - 1
        outputs = *split.outputs, moves.last
        moves.operators.append(operator(kind, 13, split.inputs, outputs, axis=axis))
        moves.values = second
    elif kind == "Squeeze" and values.shape[axis] == 1:
        moves.add(kind, values.squeeze(axis), (axis,))
    elif kind == "Expand" and values.shape[axis] == 1:
        shape = (2, *values.shape[:axis], 3, *values.shape[axis + 1 :])
        moves.add(kind, np.broadcast_to(values, shape), shape)


@given(shapes, st.data())
def test_elements_are_where_steps_lead(shape: tuple[int, ...], data: st.DataObject) -> None:
    moves = Moves(shape)
    for _ in range(data.draw(st.integers(0, 6))):
        draw(moves, data)
    if moves.copied:
        with pytest.raises(UnsupportedError, match="joined"):
            strided(moves.layer(), moves.last)
        return
    found = strided(moves.layer(), moves.last)
    assert found.source == 0
    index = np.full(moves.values.shape, found.start)
    for step, place in zip(steps(found.array), np.indices(index.shape, sparse=True), strict=True):
        index += step * place
    np.testing.assert_array_equal(index, moves.values)


def test_axes_of_one_step_over_what_follows() -> None:
    assert steps(contiguous((1, 3, 1, 4))) == (12, 4, 4, 1)
    assert steps(np.broadcast_to(contiguous((1, 4)), (3, 4))) == (0, 1)


def moved(op_type: str, *told: Tensor, **attributes: AttributeValue) -> Layer:
    tensors = floats(2, 3), *told, floats(2, 3)
    inputs = tuple(range(len(tensors) - 1))
    made = operator(op_type, 13, inputs, (len(inputs),), "", **attributes)
    return Layer(tensors, (made,), made.outputs)


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (moved("Relu"), "Relu is not read in place"),
        (moved("Gather", longs(1, 0)), "Gather is not read in place"),
        (moved("Slice", longs(1), longs(-9), longs(0), longs(-1)), "backwards"),
        (moved("Slice", Tensor("int64", (1,)), longs(9)), "numbers that aren't known"),
    ],
)
def test_what_moves_elements_is_none(layer: Layer, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        strided(layer, layer.outputs[0])
    with pytest.raises(UnsupportedError, match="joined"):
        reshaped(contiguous((2, 3, 4)).transpose(1, 0, 2), (6, 4))
