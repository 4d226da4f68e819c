"""Operations, bytes and parameters, against loops that count, and against what really runs."""

from typing import Any

import numpy as np
import pytest

from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedLayer
from tests.ingest import counting
from tests.ingest.counting import Counter
from tests.ingest.onnx_text import extracted, only_layer, shapes
from tests.ingest.real_models import EXPORTED, MATRIX_FLOPS
from tests.ingest.real_models import extracted as real
from tests.ingest.running import Array, random_array, run_one


def one_layer(op_type: str, inputs: list[Array], **more: Any) -> tuple[ExtractedLayer, list[Array]]:
    """The layer of an operator, and what ONNX Runtime computes with it.

    What the layer says of shapes, bytes and parameters is compared with the arrays themselves.
    """
    content, outputs = run_one(op_type, inputs, **more)
    (layer,) = extract(content).layers
    arrays = [array for array in (*inputs, *outputs) if array is not None]
    assert shapes(layer) == [array.shape for array in arrays]
    assert layer.bytes == sum(array.nbytes for array in arrays)
    weights = more.get("weights", 0)
    assert layer.parameters == sum(a.size for a in inputs[len(inputs) - weights :])
    return layer, outputs


CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strides": {"strides": [2, 3]},
    "missing strides": {"pads": [1, 1, 1, 1]},
    "dilations": {"dilations": [2, 2]},
    "dilations and strides": {"dilations": [2, 1], "strides": [1, 2]},
    "symmetric pads": {"pads": [1, 2, 1, 2]},
    "asymmetric pads": {"pads": [0, 2, 1, 0]},
    "groups": {"group": 2},
    "depthwise": {"group": 4},
    "everything": {"group": 2, "pads": [0, 1, 2, 3], "strides": [2, 1], "dilations": [1, 2]},
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_a_convolution_takes_the_operations_that_loops_count(case: str) -> None:
    attributes = CONVOLUTIONS[case]
    group = attributes.get("group", 1)
    x, w = random_array(2, 4, 8, 7), random_array(4, 4 // group, 3, 2)
    layer, (y,) = one_layer("Conv", [x, w], weights=1, **attributes)
    counter = Counter()
    full: dict[str, Any] = {
        "pads": [0, 0, 0, 0],
        "strides": [1, 1],
        "dilations": [1, 1],
        "group": 1,
    } | attributes
    np.testing.assert_array_equal(y, counting.convolution(x, w, counter=counter, **full))
    assert layer.flops == 2 * counter.multiplications
    assert layer.kind == "compute"


def pads_of(layer: ExtractedLayer) -> list[int]:
    attributes = {a.name: a.value for a in layer.attributes()}
    assert attributes["auto_pad"] == "NOTSET"
    pads = attributes["pads"]
    assert isinstance(pads, tuple)
    return [int(pad) for pad in pads]


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
@pytest.mark.parametrize("size", [7, 8, 9])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_auto_pad_is_spelled_out_as_the_pads_that_it_stands_for(
    auto_pad: str, size: int, strides: list[int]
) -> None:
    """The pads in the layer give the same numbers as ONNX Runtime's own reading of auto_pad."""
    x, w = random_array(1, 2, size, size), random_array(3, 2, 3, 2)
    layer, (y,) = one_layer("Conv", [x, w], weights=1, auto_pad=auto_pad, strides=strides)
    counter = Counter()
    again = counting.convolution(
        x, w, pads=pads_of(layer), strides=strides, dilations=[1, 1], group=1, counter=counter
    )
    np.testing.assert_array_equal(y, again)
    assert layer.flops == 2 * counter.multiplications


@pytest.mark.parametrize("size", [7, 8, 9])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_auto_pad_takes_dilation_into_account(size: int, strides: list[int]) -> None:
    """ONNX Runtime can't do both at once; the size that must come out is that of the input,
    divided by the stride."""
    layer = only_layer(
        f"g (float[1,2,{size},{size}] x, float[3,2,3,2] w) => (y)"
        f'{{ y = Conv<auto_pad="SAME_UPPER", dilations=[2,2], strides={strides}>(x, w) }}'
    )
    counter = Counter()
    again = counting.convolution(
        random_array(1, 2, size, size),
        random_array(3, 2, 3, 2),
        pads=pads_of(layer),
        strides=strides,
        dilations=[2, 2],
        group=1,
        counter=counter,
    )
    assert again.shape == (1, 3, -(-size // strides[0]), -(-size // strides[1]))
    assert shapes(layer)[-1] == again.shape
    assert layer.flops == 2 * counter.multiplications


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_convolution_of_any_rank(rank: int) -> None:
    """Not images of rank 4 alone, as in the published code."""
    x, w = random_array(1, 2, *[5] * rank), random_array(2, 2, *[2] * rank)
    layer, (y,) = one_layer("Conv", [x, w], weights=1)
    counter = Counter()
    again = counting.convolution(
        x, w, pads=[0] * 2 * rank, strides=[1] * rank, dilations=[1] * rank, group=1,
        counter=counter,
    )  # fmt: skip
    np.testing.assert_array_equal(y, again)
    assert layer.flops == 2 * counter.multiplications


def test_a_bias_costs_its_bytes_and_no_operation() -> None:
    x, w, b = random_array(1, 2, 5, 5), random_array(3, 2, 3, 3), random_array(3)
    without, _ = one_layer("Conv", [x, w], weights=1)
    with_bias, _ = one_layer("Conv", [x, w, b], weights=2)
    assert with_bias.flops == without.flops
    assert with_bias.bytes == without.bytes + 12
    assert with_bias.parameters == without.parameters + 3


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_a_transposed_convolution(group: int, strides: list[int]) -> None:
    x, w = random_array(1, 4, 3, 4), random_array(4, 3, 2, 3)
    layer, (y,) = one_layer("ConvTranspose", [x, w], weights=1, group=group, strides=strides)
    counter = Counter()
    again = counting.transposed_convolution(x, w, strides=strides, group=group, counter=counter)
    np.testing.assert_array_equal(y, again)
    assert layer.flops == 2 * counter.multiplications


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
        ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 2)]),
    ],
)
def test_an_einsum(equation: str, operands: list[tuple[int, ...]]) -> None:
    arrays = [random_array(*shape) for shape in operands]
    layer, (y,) = one_layer("Einsum", arrays, equation=equation)
    counter = Counter()
    np.testing.assert_array_equal(y, counting.contraction(equation, arrays, counter))
    # A single operand is only rearranged: an operation an element.
    expected = 2 * counter.multiplications if len(arrays) > 1 else arrays[0].size
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


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [0, 1, 2, 0]])
def test_a_pooling_takes_one_operation_for_each_element_of_its_window(
    op_type: str, pads: list[int]
) -> None:
    layer, (y,) = one_layer(
        op_type, [random_array(2, 3, 8, 7)], kernel_shape=[3, 2], strides=[2, 2], pads=pads
    )
    assert layer.flops == y.size * 3 * 2


def test_global_pooling_looks_at_each_element_once() -> None:
    layer, _ = one_layer("GlobalAveragePool", [random_array(2, 3, 8, 7)])
    assert layer.flops == 2 * 3 * 8 * 7


@pytest.mark.parametrize(
    ("a", "b"), [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (4, 2)), ((5,), (4, 5))]
)
@pytest.mark.parametrize("op_type", ["Add", "Mul", "Sub", "Div"])
def test_broadcasting_costs_an_operation_for_each_element_that_comes_out(
    op_type: str, a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    """And each input is read once, as small as it is."""
    layer, (y,) = one_layer(op_type, [random_array(*a), random_array(*b)])
    assert layer.flops == y.size


@pytest.mark.parametrize(("op_type", "inputs"), [("Sum", 3), ("Max", 2), ("Mean", 4), ("Min", 1)])
def test_operators_of_many_inputs_combine_one_at_a_time(op_type: str, inputs: int) -> None:
    text = ", ".join(f"x{i}" for i in range(inputs))
    given = ", ".join(f"float[5, 4] x{i}" for i in range(inputs))
    layer = only_layer(f"g ({given}) => (y) {{ y = {op_type}({text}) }}")
    assert layer.flops == (20 * max(1, inputs - 1) if layer.kind == "compute" else 0)
    assert layer.kind == ("view" if inputs == 1 else "compute")


def test_a_reduction_reads_each_element_once() -> None:
    axes = np.array([1], np.int64)
    content, (y,) = run_one("ReduceMean", [random_array(3, 8, 2), axes], weights=1)
    (layer,) = extract(content).layers
    assert y.shape == (3, 1, 2)
    assert layer.flops == 48
    assert layer.parameters == 0, "an axis is no parameter"


def test_batch_normalization_is_a_scale_and_a_shift() -> None:
    statistics = [np.abs(random_array(3)) + 1 for _ in range(4)]
    layer, _ = one_layer("BatchNormalization", [random_array(2, 3, 4, 4), *statistics], weights=4)
    assert layer.flops == 2 * 2 * 3 * 4 * 4
    assert layer.parameters == 12


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
    layer = only_layer(f"{head} => ({names}) {{ {names} = {call} }}", 23)
    products = naive_attention_products(queries, past + keys, depth, value_depth)
    softmax = 5 * queries * (past + keys)
    assert layer.flops == batch * heads * (2 * products + softmax)


@pytest.mark.parametrize("op_type", ["Concat", "Transpose", "Gather", "Pad", "Slice", "Where"])
def test_moving_bytes_takes_no_operation(op_type: str) -> None:
    text = {
        "Concat": "y = Concat<axis=0>(x, x)",
        "Transpose": "y = Transpose(x)",
        "Gather": "y = Gather(x, i)",
        "Pad": "y = Pad(x, p)",
        "Slice": "y = Slice(x, s, e)",
        "Where": "y = Where(c, x, x)",
    }[op_type]
    layer = only_layer(
        "g (float[4,6] x, int64[2] i, bool[4,6] c) => (y)"
        f"<int64[4] p = {{0,1,0,0}}, int64[1] s = {{1}}, int64[1] e = {{3}}> {{ {text} }}"
    )
    assert (layer.kind, layer.flops) == ("movement", 0)
    assert layer.bytes > 0


def test_a_gather_reads_the_rows_that_it_picks_and_not_the_table() -> None:
    layer = only_layer(
        'g (int64[7] i) => (y) <float[50000, 16] t = ["location": "nowhere"]>{ y = Gather(t, i) }'
    )
    assert layer.bytes == 7 * 8 + 2 * (7 * 16 * 4)
    assert layer.parameters == 50000 * 16


def test_a_slice_reads_the_part_that_it_cuts_out() -> None:
    layer = only_layer(
        "g (float[100] x) => (y) <int64[1] s = {0}, int64[1] e = {10}> { y = Slice(x, s, e) }"
    )
    assert layer.bytes == 2 * 40 + 2 * 8


def test_an_input_that_is_read_twice_is_counted_once() -> None:
    layer = only_layer("g (float[10] x) => (y) { y = Mul(x, x) }")
    assert layer.bytes == 40 + 40


def test_elements_of_less_than_a_byte_are_packed() -> None:
    layer = only_layer(
        "g (float[3] x) => (y) <float s = {1}> { q = QuantizeLinear<output_dtype=22>(x, s)"
        " y = Relu(x) }"
    )
    assert layer.op == "Relu"
    model = extracted(
        "g (float[3] x) => (q) <float s = {1}> { q = QuantizeLinear<output_dtype=22>(x, s) }"
    )
    assert model.layers[0].bytes == 12 + 4 + 2


def test_a_view_costs_nothing() -> None:
    layer = only_layer("g (float[2,3] x) => (y) <int64[1] s = {6}> { y = Reshape(x, s) }")
    assert (layer.kind, layer.flops, layer.bytes, layer.parameters) == ("view", 0, 0, 0)


MATRIX_OPERATORS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "Einsum", "Attention")


@pytest.mark.parametrize("name", EXPORTED)
def test_matrix_flops_are_within_a_hundredth_of_pytorchs(name: str) -> None:
    counted = MATRIX_FLOPS[name.removesuffix("-raw")]
    ours = sum(layer.flops for layer in real(name).layers if layer.op in MATRIX_OPERATORS)
    assert ours == pytest.approx(counted, rel=0.01)


@pytest.mark.parametrize("name", sorted(MATRIX_FLOPS))
def test_both_ways_of_exporting_a_model_agree(name: str) -> None:
    """The exporter's own optimisations change no convolution and no matrix product."""

    def products(model: str) -> int:
        return sum(x.flops for x in real(model).layers if x.op in MATRIX_OPERATORS)

    assert products(name) == products(f"{name}-raw")
