"""Views say where elements are, whatever moved them: NumPy moves the elements themselves."""

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.groups.attention.heads import by_head
from benanza_ingest.groups.attention.layouts import (
    Axis,
    Placed,
    cut,
    expanded,
    inverse,
    reshaped,
    size_of,
    sliced,
    transposed,
    whole,
)

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def places(view: Placed) -> npt.NDArray[Any]:
    """The place of each element of a view."""
    found = np.array(view.offset)
    for axis in view.axes:
        along = np.array([0])
        for size, stride in axis:
            along = (along[:, None] + np.arange(size) * stride).reshape(-1)
        found = found[..., None] + along
    return found


def splits(size: int, data: st.DataObject) -> tuple[int, ...]:
    """Sizes whose product this is."""
    first = data.draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
    return (first, size // first)


@given(shapes, st.data())
def test_a_view_is_what_numpy_makes(shape: tuple[int, ...], data: st.DataObject) -> None:
    values, view = np.arange(prod(shape)).reshape(shape), whole(shape)
    for _ in range(data.draw(st.integers(0, 6))):
        match data.draw(st.integers(0, 4)):
            case 0:
                order = tuple(data.draw(st.permutations(range(values.ndim))))
                values, view = values.transpose(order), transposed(view, order)
            case 1:
                at = data.draw(st.integers(0, values.ndim - 1))
                step, start = data.draw(st.integers(1, 2)), 0
                start = data.draw(st.integers(0, values.shape[at] - 1))
                part = values[(*(slice(None),) * at, slice(start, None, step))]
                found = sliced(view, at, start, part.shape[at], step)
                if found is not None:
                    values, view = part, found
            case 2:
                wanted = (2, *(3 if n == 1 else n for n in values.shape))
                if values.size < 500:
                    values, view = np.broadcast_to(values, wanted), expanded(view, wanted)
            case 3:
                at = data.draw(st.integers(0, values.ndim - 1))
                sizes = values.shape[:at], splits(values.shape[at], data), values.shape[at + 1 :]
                found = reshaped(view, sum(sizes, ()))
                if found is not None:
                    values, view = values.reshape(sum(sizes, ())), found
            case 4:
                at = data.draw(st.integers(0, values.ndim))
                shape = (prod(values.shape[:at]), *values.shape[at:])
                found = reshaped(view, shape)
                assert found is not None, "axes are always joined"
                values, view = values.reshape(shape), found
        assert view.shape() == values.shape
        np.testing.assert_array_equal(places(view), values)


@given(shapes, st.data())
def test_the_inverse_puts_elements_back(shape: tuple[int, ...], data: st.DataObject) -> None:
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    back = inverse(transposed(whole(shape), order), shape)
    assert back is not None
    moved = np.arange(prod(shape)).reshape(shape).transpose(order)
    np.testing.assert_array_equal(
        moved.reshape(-1)[places(back)].reshape(-1), np.arange(prod(shape))
    )


def test_a_piece_is_cut_only_at_its_places() -> None:
    assert cut(((6, 1),), (2, 3)) == (((2, 3),), ((3, 1),))
    assert cut(((2, 10), (3, 1)), (3, 2)) is None
    assert cut(((4, 1),), (3,)) is None
    assert cut((), (1, 1)) == ((), ())


@given(st.data())
def test_matrices_by_head_are_the_same_matrices(data: st.DataObject) -> None:
    """Whatever the axes before them, in the same order, and keys once for heads that share them."""
    lead = data.draw(st.lists(st.integers(1, 3), max_size=3).map(tuple))
    views = []
    for _ in range(4):
        repeated = [data.draw(st.booleans()) for _ in lead]
        sizes = tuple(1 if skip else n for n, skip in zip(lead, repeated, strict=True))
        order = data.draw(st.permutations(range(len(lead) + 2)))
        shape = (*sizes, 2, 2)
        placed = whole(tuple(shape[at] for at in order))
        view = transposed(placed, tuple(order.index(at) for at in range(len(order))))
        views.append(expanded(view, (*lead, 2, 2)))
    heads = by_head(tuple(views), lead)
    if heads is None:
        return
    assert heads.batch * heads.heads == prod(lead)
    assert heads.heads % heads.key_heads == 0
    for at, (view, found) in enumerate(zip(views, heads.views, strict=True)):
        count = heads.key_heads if at in (1, 2) else heads.heads
        assert all(len(axis) <= 1 for axis in found.axes)
        axes: list[Axis] = [
            axis or (((size, 0),) if size > 1 else ())
            for axis, size in zip(found.axes, (heads.batch, count, 2, 2), strict=True)
        ]
        assert tuple(size_of(axis) for axis in axes) == (heads.batch, count, 2, 2)
        matrices = places(Placed(found.offset, tuple(axes))).repeat(heads.heads // count, axis=1)
        np.testing.assert_array_equal(matrices.reshape(-1, 2, 2), places(view).reshape(-1, 2, 2))
