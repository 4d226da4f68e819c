"""Steps in memory say where elements are, whatever was done to a tensor's shape."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.cuda.lowering.products.strides import contiguous, reshaped, seen, steps
from benanza_runner.cuda.unsupported import UnsupportedError
from tests.runner.layers import operator

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@given(shapes, st.data())
def test_elements_are_where_steps_lead(shape: tuple[int, ...], data: st.DataObject) -> None:
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    cut = data.draw(st.integers(0, len(shape)))
    numbers = np.arange(prod(shape)).reshape(shape).transpose(order)
    turned = seen(contiguous(shape), operator("Transpose", 13, (0,), (1,), perm=order), ())
    wanted = (prod(turned.shape[:cut]), *turned.shape[cut:])
    try:
        found = reshaped(turned, wanted)
    except UnsupportedError:
        found, wanted = turned, turned.shape
    index = sum(step * place for step, place in zip(steps(found), np.indices(wanted), strict=True))
    np.testing.assert_array_equal(index, numbers.reshape(wanted))


def test_axes_of_one_step_over_what_follows() -> None:
    assert steps(contiguous((1, 3, 1, 4))) == (12, 4, 4, 1)
    assert steps(np.broadcast_to(contiguous((1, 4)), (3, 4))) == (0, 1)


def test_what_moves_elements_is_none() -> None:
    with pytest.raises(UnsupportedError, match="joined"):
        reshaped(contiguous((2, 3, 4)).transpose(1, 0, 2), (6, 4))
    with pytest.raises(UnsupportedError, match="Relu"):
        seen(contiguous((2, 3)), operator("Relu", 14, (0,), (1,)), (2, 3))
