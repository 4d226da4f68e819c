"""What follows from shapes and constants alone is evaluated, and is no layer."""

import time

import pytest

from benanza_ingest.resolving.fold import MAX_ELEMENTS
from tests.ingest.onnx_text import extracted, kinds, shapes


def reshaped(arithmetic: str, constants: str = "", opset: int = 21) -> list[tuple[int, ...]]:
    """The shapes of what a Reshape to the value `s` reads and gives."""
    model = extracted(
        f"g (float[N,6,4] x) => (y) {constants} {{ {arithmetic} r = Reshape(x, s) y = Relu(r) }}",
        opset,
        batch=3,
    )
    assert kinds(model) == [("Reshape", "view"), ("Relu", "compute")]
    return shapes(model.layers[1])


@pytest.mark.parametrize(
    ("arithmetic", "constants", "expected"),
    [
        ("s = Shape(x)", "", (3, 6, 4)),
        ("a = Shape<start=1>(x) s = Concat<axis=0>(m, a)", "<int64[1] m = {-1}>", (3, 6, 4)),
        ("a = Shape(x) b = Gather(a, i) s = Concat<axis=0>(b, m)",
         "<int64[1] i = {0}, int64[1] m = {-1}>", (3, 24)),
        ("a = Size(x) s = Unsqueeze(a, i)", "<int64[1] i = {0}>", (72,)),
        ("a = Shape(x) b = Slice(a, i, j) c = ReduceProd<keepdims=1>(a) d = Div(c, b)"
         " s = Concat<axis=0>(b, d)", "<int64[1] i = {0}, int64[1] j = {1}>", (3, 24)),
        ("a = Shape(x) b = Cast<to=1>(a) c = Mul(b, h) d = Floor(c) s = Cast<to=7>(d)",
         "<float[3] h = {1.0, 1.0, 1.0}>", (3, 6, 4)),
        ("a = Shape(x) b = Gather<axis=0>(a, i) c = Unsqueeze(b, z) s = Concat<axis=0>(c, m)",
         "<int64 i = {2}, int64[1] z = {0}, int64[1] m = {-1}>", (4, 18)),
        ("a = Shape(x) b = Equal(a, m) c = ConstantOfShape<value = int64[1] {-1}>(t)"
         " s = Where(b, c, a)",
         "<int64[3] m = {6, 6, 6}, int64[1] t = {3}>", (3, 6, 4)),
        ("a = Constant<value_ints=[4, -1]>() s = Identity(a)", "", (4, 18)),
        ("s = Constant<value_ints=[-1]>()", "", (72,)),
        ("a = Constant<value_int=9>() b = Constant<value_int=8>() c = Constant<value_ints=[1]>()"
         " d = Reshape(a, c) e = Reshape(b, c) s = Concat<axis=0>(d, e)", "", (9, 8)),
        ("a = Shape(x) b = CastLike(a, x) s = Cast<to=7>(b)", "", (3, 6, 4)),
        ("a = Range(i, j, k) s = Mul(a, f)",
         "<int64 i = {2}, int64 j = {5}, int64 k = {1}, int64[3] f = {3, 1, 1}>", (6, 3, 4)),
    ],
)  # fmt: skip
def test_shape_arithmetic_is_no_layer(
    arithmetic: str, constants: str, expected: tuple[int, ...]
) -> None:
    assert reshaped(arithmetic, constants) == [expected, expected]


def test_arithmetic_on_the_shapes_of_values_inside_is_no_layer() -> None:
    model = extracted(
        "g (float[N,3,8,8] x, float[4,3,3,3] w) => (y) <int64[1] m = {-1}> {"
        " c = Conv(x, w) a = Shape<end=1>(c) s = Concat<axis=0>(a, m)"
        " r = Reshape(c, s) y = Relu(r) }",
        batch=2,
    )
    assert kinds(model) == [("Conv", "compute"), ("Reshape", "view"), ("Relu", "compute")]
    assert shapes(model.layers[2])[0] == (2, 4 * 6 * 6)


def test_a_shape_is_known_before_what_it_is_the_shape_of_is() -> None:
    """Of a tensor that depends on data, the known dimensions count all the same."""
    model = extracted(
        "g (float[2,6] x, int64[1] n) => (y) <int64[1] m = {-1}> {"
        " t = Tile(x, two) a = Shape<start=1, end=2>(x) s = Concat<axis=0>(m, a)"
        " r = Reshape(x, s) y = Relu(r) two = Concat<axis=0>(n, n) }"
    )
    assert kinds(model) == [("Reshape", "view"), ("Relu", "compute")]


def test_constant_sub_graphs_are_no_layers_however_large() -> None:
    """Weights, and what is computed from weights alone: also what is too large to evaluate."""
    model = extracted(
        'g (float[N,1000] x) => (y) <float[1000,1000] w = ["location": "w"]> {'
        " a = Transpose(w) b = Mul(a, a) c = MatMul(b, w) y = MatMul(x, c) }"
    )
    assert kinds(model) == [("MatMul", "compute")]
    assert model.layers[0].parameters == 1_000_000


def test_a_chain_of_arithmetic_longer_than_the_stack_is_deep() -> None:
    chain = " ".join(f"v{i + 1} = Add(v{i}, zero)" for i in range(3000))
    model = extracted(
        "g (float[2,6] x) => (y) <int64[1] v0 = {12}, int64[1] zero = {0}> {"
        f" {chain} r = Reshape(x, v3000) y = Relu(r) }}"
    )
    assert shapes(model.layers[1]) == [(12,), (12,)]


@pytest.mark.parametrize(
    "huge",
    [
        "c = ConstantOfShape(n)",
        "c = Expand(o, n)",
        "c = Tile(o, n)",
        "a = Squeeze(n) c = Range(z, a, d)",
        "a = Expand(o, k) b = Tile(a, k) c = Tile(b, k)",
    ],
)
def test_a_constant_that_would_be_huge_is_not_computed(huge: str) -> None:
    """It is as large as it says, and known by its type and shape, if at all."""
    started = time.process_time()
    model = extracted(
        "g (float[2] x) => (y) <int64[1] n = {1000000000000}, int64[1] o = {1}, int64 z = {0},"
        f" int64 d = {{1}}, int64[1] k = {{60000}}> {{ {huge} i = ReduceSum<keepdims=1>(c)"
        " f = Cast<to=1>(i) y = Add(x, f) }"
    )
    assert time.process_time() - started < 5
    assert [layer.op for layer in model.layers] == ["Add"]


def test_a_size_beyond_64_bits_is_not_known() -> None:
    model = extracted(
        "g (float[1,1099511627776,1099511627776] x, float[4] z) => (y) <int64[1] a = {0}> {"
        " n = Size(x) s = Unsqueeze(n, a) y = Reshape(z, s) }"
    )
    assert [layer.op for layer in model.layers] == ["Reshape"]


def test_constants_up_to_a_size_are_evaluated() -> None:
    model = extracted(
        f"g (float[{MAX_ELEMENTS}] x, float[1] z) => (y) <int64[1] n = {{{MAX_ELEMENTS}}}> {{"
        " c = ConstantOfShape<value = int64[1] {1}>(n) s = ReduceSum<keepdims=1>(c)"
        " t = Tile(z, s) y = Add(x, t) }"
    )
    assert shapes(model.layers[0])[-1] == (MAX_ELEMENTS,)


@pytest.mark.parametrize(
    "broken",
    [
        "s = CastLike(text, i)",  # text that says no number
        "s = Div(i, zero)",
        "s = Gather(i, far)",
        "s = Slice(i, zero, far, far)",
        "s = Reshape(i, far)",
        "s = Range(zero, far, zero)",
        't = Constant<value_string = "x">() s = Cast<to=7>(t)',
    ],
)
def test_a_constant_that_cannot_be_computed_is_one_not_known(broken: str) -> None:
    """The layer that needs it is skipped, or the shape it gives is unknown; no crash."""
    model = extracted(
        'g (float[2,6] x) => (y) <string[1] text = {"abc"}, int64[1] i = {12},'
        f" int64[1] zero = {{0}}, int64[1] far = {{99}}> {{ {broken}"
        " r = Reshape(x, s) y = Relu(r) }"
    )
    assert {layer.kind for layer in model.layers} <= {"skipped", "view", "compute"}


def test_random_values_are_no_constants() -> None:
    model = extracted("g (float[2,3] x) => (y) { r = RandomNormal<shape=[2,3]>() y = Add(x, r) }")
    assert kinds(model) == [("RandomNormal", "compute"), ("Add", "compute")]


def test_weights_of_types_that_numpy_lacks_are_known_by_type() -> None:
    model = extracted(
        'g (float[4] x) => (y) <bfloat16[4] w = ["location": "w"]> {'
        " c = Cast<to=1>(w) y = Add(x, c) }"
    )
    assert kinds(model) == [("Add", "compute")]
    assert model.layers[0].parameters == 4


def test_a_sparse_weight_is_as_large_as_the_tensor_that_it_stands_for() -> None:
    from onnx import TensorProto, helper

    from benanza_ingest.extract import extract
    from tests.ingest.onnx_text import proto

    model = proto("g (float[2,5] x) => (y) { y = MatMul(x, w) }")
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [2.0])
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [3])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [5, 7]))
    (layer,) = extract(model.SerializeToString()).layers
    assert layer.parameters == 35
    assert layer.flops == 2 * 2 * 5 * 7


EXTERNAL = '["location": "w"]'
STATIC = {
    "a weight with axes that are computed": (
        f"float[4] w = {EXTERNAL}, int64 one = {{1}}, int64 three = {{3}}",
        "a = Range(one, three, one) u = Unsqueeze(w, a) v = CastLike(u, x) y = Mul(x, v)",
        [("Mul", "compute")],
    ),
    "the shape of a weight with its axes moved": (
        f"float[16,2,8] w = {EXTERNAL}, int64 nought = {{0}}, int64 three = {{3}},"
        " int64 one = {1}, int64[1] first = {0}, int64[1] two = {2}",
        "a = Range(nought, three, one) s = Shape(w) t = Gather(s, a) r = Reshape(w, t)"
        " u = Slice(r, first, two, first) e = Shape(u) y = Reshape(x, e)",
        [("Reshape", "view")],
    ),
    "the shape of a sequence of numbers": (
        "int64 nought = {0}, int64 one = {1}, int64[1] m = {-1}",
        "s = Shape(x) n = Gather<axis=0>(s, one) a = Range(nought, n, one)"
        " b = Reshape(a, m) c = Shape(b) d = Concat<axis=0>(c, m) y = Reshape(x, d)",
        [("Reshape", "view")],
    ),
    "a constant with too many elements": (
        "int64[4] times = {300, 1, 1, 1}, float one = {1}",
        "s = Shape(x) t = Mul(s, times) z = Expand(one, t) w = Neg(z) p = Relu(w) y = Mul(x, p)",
        [("Mul", "compute")],
    ),
}


@pytest.mark.parametrize("case", STATIC)
def test_a_static_value_has_a_type_where_its_elements_are_not_known(case: str) -> None:
    """Shape inference of the whole model doesn't compute, and leaves what follows open."""
    given, body, expected = STATIC[case]
    model = extracted(f"g (float[1,4,8,8] x) => (y) <{given}> {{ {body} }}")
    assert kinds(model) == expected
