"""Costs of products of matrices, recurrent layers and attention, against loops that count."""

import numpy as np
import pytest

from tests.ingest.layering import counting
from tests.ingest.layering.counting import Counter
from tests.ingest.layering.one_layer import one_layer
from tests.ingest.onnx_text import extracted, of_operator
from tests.ingest.running import random_array


@pytest.mark.parametrize(
    ("a", "b", "equation"),
    [
        ((3, 4), (4, 5), "ik,kj->ij"),
        ((2, 3, 4), (2, 4, 5), "bik,bkj->bij"),
        ((2, 3, 4), (4, 5), "bik,kj->bij"),
        ((3, 4), (2, 4, 5), "ik,bkj->bij"),
        ((1, 2, 3, 4), (5, 1, 4, 2), "xbik,axkj->abij"),
        ((4,), (4, 5), "k,kj->j"),
        ((3, 4), (4,), "ik,k->i"),
        ((4,), (4,), "k,k->"),
    ],
)
def test_a_matrix_product_batched_broadcast_or_of_vectors(
    a: tuple[int, ...], b: tuple[int, ...], equation: str
) -> None:
    one, other = random_array(*a), random_array(*b)
    layer, (y,) = one_layer("MatMul", [one, other])
    counter = Counter()
    broadcast = one, other
    if equation.startswith("x"):  # axes of one element, which a contraction doesn't broadcast
        broadcast, equation = (one[0], other[:, 0]), "bik,akj->abij"
    np.testing.assert_array_equal(y, counting.contraction(equation, broadcast, counter))
    assert layer.flops == 2 * counter.multiplications


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_a_gemm_with_transposes(trans_a: int, trans_b: int) -> None:
    a, b = (
        random_array(*((4, 3), (3, 4))[1 - trans_a]),
        random_array(*((5, 4), (4, 5))[1 - trans_b]),
    )
    layer, (y,) = one_layer(
        "Gemm", [a, b, random_array(5)], weights=2, transA=trans_a, transB=trans_b, beta=0.0
    )
    terms = ("ki" if trans_a else "ik") + "," + ("jk" if trans_b else "kj")
    counter = Counter()
    np.testing.assert_array_equal(y, counting.contraction(f"{terms}->ij", [a, b], counter))
    assert layer.flops == 2 * counter.multiplications


@pytest.mark.parametrize(
    ("equation", "operands"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("i,j->ij", [(3,), (4,)]),
        (" i j , j -> i ", [(3, 4), (4,)]),
        ("ij->ji", [(3, 4)]),
    ],
)
def test_an_einsum(equation: str, operands: list[tuple[int, ...]]) -> None:
    arrays = [random_array(*shape) for shape in operands]
    layer, (y,) = one_layer("Einsum", arrays, equation=equation)
    counter = Counter()
    np.testing.assert_array_equal(y, counting.contraction(equation, arrays, counter))
    # A single operand is only rearranged: an operation an element. An outer product adds nothing.
    left, _, right = equation.partition("->")
    each = 2 if set(left) - {*right, " ", ","} else 1
    expected = each * counter.multiplications if len(arrays) > 1 else arrays[0].size
    assert layer.flops == expected


@pytest.mark.parametrize(
    ("equation", "spelled_out", "operands"),
    [
        ("ij,jk", "ij,jk->ik", [(2, 3), (3, 4)]),
        ("...ij,...jk->...ik", "abij,abjk->abik", [(2, 3, 4, 5), (2, 3, 5, 2)]),
        ("b...d,de->b...e", "bxyd,de->bxye", [(2, 3, 4, 5), (5, 2)]),
    ],
)
def test_an_einsum_with_what_it_leaves_unsaid(
    equation: str, spelled_out: str, operands: list[tuple[int, ...]]
) -> None:
    arrays = [random_array(*shape) for shape in operands]
    short, (y,) = one_layer("Einsum", arrays, equation=equation)
    long, (same,) = one_layer("Einsum", arrays, equation=spelled_out)
    np.testing.assert_array_equal(y, same)
    assert short.flops == long.flops


def test_an_lstm_takes_the_products_with_both_weights_at_each_step() -> None:
    steps, batch, inputs, hidden = 3, 2, 4, 5
    x = random_array(steps, batch, inputs)
    w, r = random_array(1, 4 * hidden, inputs), random_array(1, 4 * hidden, hidden)
    layer, (y,) = one_layer("LSTM", [x, w, r], weights=2, hidden_size=hidden)
    counter = Counter()
    sigmoid = np.vectorize(lambda value: 1 / (1 + np.exp(-value)))
    h = c = np.zeros((batch, hidden))
    for step in range(steps):
        gates = counting.contraction("bi,gi->bg", [x[step], w[0]], counter)
        gates = gates + counting.contraction("bh,gh->bg", [h, r[0]], counter)
        i, o, f, g = np.split(gates, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        np.testing.assert_allclose(y[step, 0], h, rtol=1e-4, atol=1e-5)
    assert layer.flops == 2 * counter.multiplications


@pytest.mark.parametrize(("op_type", "gates"), [("GRU", 3), ("RNN", 1)])
def test_other_recurrent_layers_have_other_gates_and_may_go_both_ways(
    op_type: str, gates: int
) -> None:
    x = random_array(3, 2, 4)
    w, r = random_array(2, gates * 5, 4), random_array(2, gates * 5, 5)
    layer, _ = one_layer(op_type, [x, w, r], weights=2, hidden_size=5, direction="bidirectional")
    assert layer.flops == 2 * 3 * 2 * 2 * gates * 5 * (4 + 5)


def naive_attention_products(queries: int, keys: int, depth: int, value_depth: int) -> int:
    """Multiplications of one head: scores, then the weighted sum of values."""
    counter = Counter()
    q, k, v = (
        random_array(queries, depth),
        random_array(keys, depth),
        random_array(keys, value_depth),
    )
    scores = counting.contraction("qd,kd->qk", [q, k], counter)
    counting.contraction("qk,kd->qd", [scores, v], counter)
    return counter.multiplications


@pytest.mark.parametrize("past", [0, 6])
@pytest.mark.parametrize("rank", [3, 4])
def test_attention_multiplies_twice_whatever_is_remembered_included(past: int, rank: int) -> None:
    batch, heads, queries, keys, depth, value_depth = 2, 3, 4, 5, 8, 7
    if rank == 4:
        q, k, v = (
            f"{batch},{heads},{length},{size}"
            for length, size in ((queries, depth), (keys, depth), (keys, value_depth))
        )
        attributes = ""
    else:
        q, k, v = (
            f"{batch},{length},{heads * size}"
            for length, size in ((queries, depth), (keys, depth), (keys, value_depth))
        )
        attributes = f"<q_num_heads={heads}, kv_num_heads={heads}>"
    before = f"{batch},{heads},{past}"
    remembered = f", float[{before},{depth}] pk, float[{before},{value_depth}] pv" if past else ""
    head = f"g (float[{q}] q, float[{k}] k, float[{v}] v{remembered})"
    call = f"Attention{attributes}(q, k, v{', , pk, pv' if past else ''})"
    names = "y, nk, nv" if past else "y"
    layer = of_operator(extracted(f"{head} => ({names}) {{ {names} = {call} }}", 23), "Attention")
    products = naive_attention_products(queries, past + keys, depth, value_depth)
    softmax = 5 * queries * (past + keys)
    assert layer.flops == batch * heads * (2 * products + softmax)


def test_a_cap_costs_a_quotient_a_tanh_and_a_product_of_each_score() -> None:
    def flops(attributes: str) -> int:
        graph = f"""g (float[2,3,4,8] q, float[2,3,5,8] k, float[2,3,5,8] v) => (y)
            {{ y = Attention<{attributes}>(q, k, v) }}"""
        return of_operator(extracted(graph, 23), "Attention").flops

    assert flops("softcap=0.5") - flops("softcap=0.0") == 3 * 2 * 3 * 4 * 5
