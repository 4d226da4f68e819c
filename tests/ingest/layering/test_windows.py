"""What meets within a map, beside each pair of a place and a tap looked at one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.layering.windows import Axis, Met

sizes = st.integers(1, 9)
axes = st.builds(Axis, sizes, sizes, sizes, st.integers(1, 4), sizes, st.integers(-3, 12))


@given(axes)
def test_as_many_meet_as_the_matrices_of_coefficients_have_ranks(axis: Axis) -> None:
    """A result is the sum of products of a tap and an element. No fewer multiplications do all of
    them than the rank of their coefficients, by each of the three against the other two.
    """
    coefficients = np.zeros((axis.places, axis.elements, axis.taps))
    for place in range(axis.places):
        for tap in range(axis.taps):
            element = place * axis.stride + tap * axis.dilation - axis.before
            if 0 <= element < axis.elements:
                coefficients[place, element, tap] = 1
    ranks = [
        np.linalg.matrix_rank(np.moveaxis(coefficients, of, 0).reshape(coefficients.shape[of], -1))
        for of in range(3)
    ]
    assert axis.met() == Met(*ranks)


def test_long_axes_take_no_longer() -> None:
    assert Axis(1 << 40, 1 << 41, 3, 2, 1, 1).met() == Met(1 << 40, 1 << 41, 3)
