"""Sums of products are products of matrices, whatever the order of their axes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Matrices
from benanza_runner.cuda.lowering.products.contraction import SharedAxis, as_matrices
from benanza_runner.cuda.unsupported import UnsupportedError

Case = tuple[str, str, str, dict[str, int]]

SIZES = {"p": 2, "q": 3, "m": 4, "r": 2, "n": 5, "o": 3, "k": 6}

KINDS = (("a", "result"), ("b", "result"), ("a", "b"), ("a", "b", "result"))
"""What an axis of a sum of products may be an axis of."""


def strides_of(term: str, sizes: dict[str, int]) -> dict[str, int]:
    """The strides of a contiguous tensor with these axes, in elements."""
    found, step = {}, 1
    for label in reversed(term):
        found[label], step = step, step * sizes[label]
    return found


def tensor(term: str, sizes: dict[str, int], seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal([sizes[label] for label in term])


def seen(array: Array, where: Matrices, shape: tuple[int, int, int, int]) -> Array:
    """Matrices of a tensor by round, pair, row and column."""
    within = (1, where.line) if where.transposed else (where.line, 1)
    steps = [array.itemsize * step for step in (where.round, where.pair, *within)]
    return as_strided(array.reshape(-1)[where.start :], shape, steps)


def multiplied(
    a: str, b: str, result: str, sizes: dict[str, int] = SIZES
) -> tuple[Array, Array, int]:
    """The sum as products of matrices and by NumPy's einsum, and the number of rounds."""
    first, second = tensor(a, sizes, 1), tensor(b, sizes, 2)
    steps = [strides_of(term, sizes) for term in (a, b, result)]
    labels = dict.fromkeys(result + a)
    axes = [SharedAxis(sizes[x], *(step.get(x) for step in steps)) for x in labels]
    found = as_matrices(axes, ())
    rounds, batch = found.rounds, found.batch
    product = seen(first, found.a, (rounds, batch, found.m, found.k)) @ seen(
        second, found.b, (rounds, batch, found.k, found.n)
    )
    written = np.full([sizes[label] for label in result], np.nan)
    seen(written, found.result, (rounds, batch, found.m, found.n))[...] = product
    return written, np.einsum(f"{a},{b}->{result}", first, second), found.rounds


@pytest.mark.parametrize(
    ("a", "b", "result", "rounds"),
    [
        ("mk", "kn", "mn", 1),
        ("km", "nk", "mn", 1),
        ("pmk", "kn", "pmn", 1),  # one taller matrix
        ("pmk", "pkn", "pmn", 1),
        ("mk", "pkn", "pmn", 1),
        ("mpk", "npk", "pmn", 1),  # side by side
        ("mpk", "pkn", "mpn", 1),
        ("qpmk", "pkn", "qpmn", 2),
        ("pqmk", "pkn", "pqmn", 1),
        ("pmqk", "pnqk", "pqmn", 2),
        ("pmqk", "pqkn", "pmqn", 2),
        ("kpm", "kn", "pmn", 1),
        ("k", "kn", "n", 1),
        ("mk", "k", "m", 1),
        ("pm", "pn", "pmn", 1),  # nothing is summed
        ("pn", "pm", "pmn", 2),  # as columns aren't next to each other, rows alone
        ("m", "mp", "mp", 1),
    ],
)
def test_sums_are_products_in_few_rounds(a: str, b: str, result: str, rounds: int) -> None:
    found, expected, count = multiplied(a, b, result)
    np.testing.assert_allclose(found, expected)
    assert count == rounds


@st.composite
def sums(draw: st.DrawFn) -> Case:
    """A sum of products, as the labels of both operands' and the result's axes, and their sizes."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5))
    labels = "abcde"[: len(kinds)]
    terms = [
        "".join(
            draw(st.permutations([x for x, kind in zip(labels, kinds, strict=True) if of in kind]))
        )
        for of in ("a", "b", "result")
    ]
    sizes = {label: draw(st.integers(1, 5)) for label in labels}
    return terms[0], terms[1], terms[2], sizes


@given(sums())
def test_a_sum_is_right_or_refused(case: Case) -> None:
    try:
        found, expected, _ = multiplied(*case)
    except UnsupportedError:
        return
    np.testing.assert_allclose(found, expected)


@given(st.permutations("pmk"), st.permutations("pkn"), st.integers(1, 9), st.integers(1, 9))
def test_pairs_of_matrices_in_any_order_are_one_product(
    a: list[str], b: list[str], pairs: int, rows: int
) -> None:
    """However many pairs there are, and in whichever order they lie, if a matrix has no gaps both
    ways.
    """
    sizes = {"p": pairs, "m": rows, "k": 6, "n": 5}
    assume(a[-1] != "p" and b[-1] != "p")
    for result in ("pmn", "mpn"):
        found, expected, rounds = multiplied("".join(a), "".join(b), result, sizes)
        np.testing.assert_allclose(found, expected)
        assert rounds == 1


@given(st.permutations("pmk"), st.integers(1, 9), st.integers(1, 9))
def test_rows_along_two_axes_need_few_rounds(a: list[str], pairs: int, rows: int) -> None:
    """If the columns of the second operand are next to each other, or its rows are."""
    sizes = {"p": pairs, "m": rows, "k": 6, "n": 5}
    for b, result in product(("kn", "nk"), ("pmn", "mpn")):
        found, expected, rounds = multiplied("".join(a), b, result, sizes)
        np.testing.assert_allclose(found, expected)
        assert rounds == 1


@pytest.mark.parametrize(
    ("axes", "reason"),
    [
        ([SharedAxis(2, 6, 6, None), SharedAxis(3, 1, 2, None)], "don't lie one in the other"),
        ([SharedAxis(2, 1, None, None)], "don't lie one in the other"),
        ([SharedAxis(4, 20, None, 1), SharedAxis(5, 2, 1, None)], "both have gaps"),
        ([SharedAxis(4, 0, None, 1), SharedAxis(5, 1, 1, None)], "both have gaps"),
    ],
)
def test_what_is_refused(axes: list[SharedAxis], reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        as_matrices(axes, ())
