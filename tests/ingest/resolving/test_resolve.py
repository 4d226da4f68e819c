"""Control flow that is decided is inlined, what isn't is skipped by name, and all keep types."""

import numpy as np
import pytest

from benanza_ingest.extract import extract
from tests.ingest.onnx_text import by_name, content, edges_by_name, extracted, kinds, proto, shapes
from tests.ingest.running import run

BRANCHES = (
    "then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { h = Tanh(x)"
    " b = Sigmoid(h) }"
)


@pytest.mark.parametrize(("condition", "expected"), [(1, ["Relu"]), (0, ["Tanh", "Sigmoid"])])
def test_an_if_whose_condition_is_constant_is_the_branch_that_runs(
    condition: int, expected: list[str]
) -> None:
    model = extracted(
        f"g (float[2,3] x) => (y) <bool c = {{{condition}}}> {{ y = If (c) <{BRANCHES}> }}"
    )
    assert [layer.op for layer in model.layers] == expected
    assert {layer.kind for layer in model.layers} == {"compute"}


def test_a_condition_on_shapes_is_constant() -> None:
    """As exporters write it for a dimension that may be 1."""
    text = (
        "g (float[N,3] x) => (y) <int64 one = {1}, int64[1] zero = {0}> {"
        " s = Shape<end=1>(x) n = Squeeze(s, zero) c = Equal(n, one)"
        f" y = If (c) <{BRANCHES}> }}"
    )
    assert [layer.op for layer in extracted(text).layers] == ["Relu"]
    assert [layer.op for layer in extracted(text, batch=2).layers] == ["Tanh", "Sigmoid"]


def test_an_if_whose_condition_depends_on_data_is_skipped_by_name() -> None:
    model = extracted(
        f"g (bool c, float[2,3] x) => (z) {{ w = Exp(x) [choice] y = If (c) <{BRANCHES}>"
        " z = Abs(y) }".replace("Relu(x)", "Relu(w)")
    )
    relu = ("Relu", "compute")
    assert kinds(model) == [("Exp", "compute"), relu, ("If", "skipped"), ("Abs", "compute")]
    skipped = model.layers[2]
    assert skipped.name == "choice"
    assert skipped.reason.startswith("If: the cheaper branch counts")
    inner = model.layers[1].name
    assert edges_by_name(model) == {
        ("w", inner),
        ("w", "choice"),
        (inner, "choice"),
        ("choice", "z"),
    }


def test_what_only_a_body_reads_is_alive() -> None:
    """A layer that nobody but a skipped body reads must not vanish."""
    model = extracted(
        "g (bool c, float[2] x) => (y) { w = Exp(x) y = If (c) <"
        " then_branch = t () => (a) { n = Not(c) a = If (n) <"
        "   then_branch = tt () => (d) { d = Relu(w) },"
        "   else_branch = te () => (f) { f = Relu(x) }> },"
        " else_branch = e () => (b) { b = Relu(x) }> }"
    )
    assert kinds(model) == [("Exp", "compute"), ("Relu", "compute"), ("If", "skipped")]
    assert model.edges == ((0, 2), (1, 2))


def test_branches_of_different_ifs_may_use_the_same_names_inside() -> None:
    """They did get mixed up: the second read what it wrote itself."""
    text = (
        "g (float[4] x) => (z) <bool c = {1}> {"
        " y = If (c) <then_branch = a () => (o) { t = Relu(x) o = Neg(t) },"
        "             else_branch = b () => (o) { o = Abs(x) }>"
        " w = If (c) <then_branch = a () => (o) { t = Sigmoid(y) o = Exp(t) },"
        "             else_branch = b () => (o) { o = Abs(x) }>"
        " z = Sub(y, w) }"
    )
    model = extracted(text)
    assert [layer.op for layer in model.layers] == ["Relu", "Neg", "Sigmoid", "Exp", "Sub"]
    assert model.edges == ((0, 1), (1, 2), (1, 4), (2, 3), (3, 4))
    assert len(by_name(model)) == 5


def test_weights_and_ifs_inside_a_branch() -> None:
    model = extracted(
        "g (float[2,4] x) => (y) <bool c = {1}> {"
        ' y = If (c) <then_branch = t () => (o) <float[4,5] w = ["location": "w"]> {'
        "   m = MatMul(x, w) o = If (c) <then_branch = tt () => (p) { p = Relu(m) },"
        "                                else_branch = te () => (p) { p = Tanh(m) }> },"
        " else_branch = e () => (o) { o = Abs(x) }> }"
    )
    assert kinds(model) == [("MatMul", "compute"), ("Relu", "compute")]
    assert shapes(model.layers[0]) == [(2, 4), (4, 5), (2, 5)]
    assert model.layers[0].parameters == 20
    assert model.edges == ((0, 1),)


def test_a_branch_may_pass_on_what_it_reads() -> None:
    model = extracted(
        "g (float[2] x) => (y) <bool c = {1}> { r = Relu(x)"
        " i = If (c) <then_branch = t () => (o) { o = Identity(r) },"
        "             else_branch = e () => (o) { o = Abs(x) }> y = Tanh(i) }"
    )
    assert [layer.op for layer in model.layers] == ["Relu", "Identity", "Tanh"]
    assert model.edges == ((0, 1), (1, 2))


def test_the_model_may_return_what_a_branch_makes() -> None:
    model = extracted(f"g (float[2,3] x) => (y) <bool c = {{1}}> {{ y = If (c) <{BRANCHES}> }}")
    assert kinds(model) == [("Relu", "compute")]


def test_deeply_nested_ifs_end_somewhere() -> None:
    body = "o0 = Relu(x)"
    for level in range(1, 30):
        body = (
            f"o{level} = If (c) <then_branch = t () => (o{level - 1}) {{ {body} }},"
            " else_branch = e () => (x) { q = Relu(x) }>"
        )
    model = extracted(f"g (float[2] x) => (o29) <bool c = {{1}}> {{ {body} }}")
    assert kinds(model) == [("Relu", "compute")]


def test_operators_on_text_say_which_part_of_a_model_to_give() -> None:
    (layer,) = extracted(
        "g (string[2] x) => (int64[2,5] y) { y = ai.onnx.contrib.CLIPTokenizer(x) }",
        domains={"ai.onnx.contrib": 1},
    ).layers
    assert "give the part of the model that works on tensors" in layer.reason


def test_custom_domains_are_skipped_by_name_and_what_follows_is_not() -> None:
    model = extracted(
        "g (float[2,3] x) => (z) <float[2,3] y> { w = Exp(x) [mine] y = com.example.Magic(w)"
        " z = Relu(y) }",
        domains={"com.example": 3},
    )
    assert kinds(model) == [("Exp", "compute"), ("Magic", "skipped"), ("Relu", "compute")]
    skipped = model.layers[1]
    assert (skipped.name, skipped.domain) == ("mine", "com.example")
    assert "com.example::Magic isn't known to the installed onnx" in skipped.reason
    assert "(opset 3 has none)" in skipped.reason
    assert "export the model with standard operators, or with this one as a function" in (
        skipped.reason
    )


def test_what_reads_an_unknown_result_is_skipped_for_want_of_its_type() -> None:
    model = extracted(
        "g (float[2,3] x) => (z) { y = com.example.Magic(x) z = Relu(y) }",
        domains={"com.example": 3},
    )
    assert kinds(model) == [("Magic", "skipped"), ("Relu", "skipped")]
    assert "'y' is no tensor, or its type isn't known" in model.layers[1].reason


def test_a_domain_that_the_model_gives_no_version_is_named() -> None:
    model = extracted("g (float[2] x) => (y) { y = com.example.Magic(x) }")
    assert "the model names no opset for it" in model.layers[0].reason


def test_a_standard_operator_that_this_opset_lacks_is_skipped_by_name() -> None:
    model = extracted("g (float[2] x) => (y) { y = Gelu(x) }", 13)
    assert "ai.onnx::Gelu isn't known" in model.layers[0].reason
    assert "(opset 13 has none)" in model.layers[0].reason


@pytest.mark.parametrize("opset", range(7, 25))
def test_every_opset_from_7_on(opset: int) -> None:
    """A model whose operators exist in all of them, some of whose forms changed on the way."""
    axes = "Squeeze<axes=[2,3]>(p)" if opset < 13 else "Squeeze(p, a)"
    text = (
        "g (float[N,3,8,8] x) => (y) <float[4,3,3,3] w = [\"location\": \"w\"], float[4] b ="
        " [\"location\": \"w\"], int64[2] a = {2, 3}, float[4,5] m = [\"location\": \"w\"],"
        " float[5] k = [\"location\": \"w\"]> { c = Conv<pads=[1,1,1,1]>(x, w)"
        " n = BatchNormalization(c, b, b, b, b) r = Relu(n)"
        " p = MaxPool<kernel_shape=[8,8]>(r) d = Dropout(p)"
        f" s = {axes} g = Gemm(s, m, k) y = Softmax<axis=1>(g) }}"
    )  # fmt: skip
    model = extracted(text, opset, batch=2)
    assert model.opset == opset
    assert kinds(model) == [
        ("Conv", "compute"),
        ("BatchNormalization", "compute"),
        ("Relu", "compute"),
        ("MaxPool", "compute"),
        ("Squeeze", "view"),
        ("Gemm", "compute"),
        ("Softmax", "compute"),
    ]
    assert shapes(model.layers[-1])[-1] == (2, 5)
    for layer in model.layers:
        assert layer.layer is not None
        assert layer.layer.operators[0].version <= opset


def test_quantised_weights_stay_as_small_as_the_file_has_them() -> None:
    model = extracted(
        'g (float[1,64] x) => (y) <int4[64,32] w = ["location": "w"],'
        ' float[2,32] s = ["location": "w"], int8[32] b = ["location": "w"], float bs = {0.1}> {'
        " f = DequantizeLinear<axis=0, block_size=32>(w, s) t = Transpose(f)"
        " c = DequantizeLinear(b, bs) y = Gemm<transB=1>(x, t, c) }",
        opset=21,
    )
    assert [layer.op for layer in model.layers] == [
        *("DequantizeLinear", "Transpose", "DequantizeLinear", "Gemm")
    ]
    weights, _, bias, _ = model.layers
    assert weights.bytes == 64 * 32 // 2 + 4 * 2 * 32 + 4 * 64 * 32
    assert (weights.parameters, bias.parameters) == (64 * 32 + 2 * 32, 32 + 1)


def test_quantised_operators_are_ordinary_layers() -> None:
    model = extracted(
        "g (float[1,3,8,8] x) => (y) <float s = {0.1}, uint8 z = {0}, int8 zw = {0},"
        ' int8[4,3,3,3] w = ["location": "w"], int8[144,5] v = ["location": "w"]> {'
        " q = QuantizeLinear(x, s, z) c = QLinearConv(q, s, z, w, s, zw, s, z)"
        " f = Flatten(c) m = QLinearMatMul(f, s, z, v, s, zw, s, z) d = DequantizeLinear(m, s, z)"
        " dq, ds, dz = DynamicQuantizeLinear(d) i = MatMulInteger(f, v, z, zw)"
        " h = Cast<to=1>(i) e = DequantizeLinear(dq, ds, dz) y = Add(e, h) }"
    )
    assert [layer.kind for layer in model.layers if layer.op != "Flatten"] == [
        "movement" if layer.op == "Cast" else "compute"
        for layer in model.layers
        if layer.op != "Flatten"
    ]
    costs = {layer.op: layer.flops for layer in model.layers}
    assert costs["QLinearConv"] == 2 * (4 * 6 * 6) * (3 * 3 * 3)
    assert costs["QLinearMatMul"] == costs["MatMulInteger"] == 2 * 5 * 144
    convolution = by_name(model)["c"]
    assert convolution.layer is not None
    assert convolution.bytes == 3 * 64 + 4 * 27 + 4 * 36 + 4 + 1 + 1, "scale and zero once each"


def test_operators_of_onnxs_other_domains_are_layers() -> None:
    model = extracted(
        "g (float[2,3] x, int64[2] i) => (y) { y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }",
        domains={"ai.onnx.ml": 4},
    )
    assert [(layer.op, layer.domain, layer.kind) for layer in model.layers] == [
        ("ArrayFeatureExtractor", "ai.onnx.ml", "compute")
    ]


def test_optional_inputs_in_the_middle_are_left_out() -> None:
    model = extracted(
        'g (float[1,1,4,4] x) => (y) <float[4] s = {1, 1, 2, 2}> { y = Resize(x, "", s) }'
    )
    (layer,) = model.layers
    assert layer.layer is not None
    assert layer.layer.operators[0].inputs == (0, -1, 1)
    assert shapes(layer) == [(1, 1, 4, 4), (4,), (1, 1, 8, 8)]


def test_several_outputs_have_types_and_readers_of_their_own() -> None:
    model = extracted(
        "g (float[2,10] x) => (b, d) <int64[3] s = {2, 3, 5}> {"
        " a, b, c = Split<axis=1>(x, s) d = MatMul(e, c) e = Transpose(a) }"
    )
    assert shapes(model.layers[0]) == [(2, 10), (3,), (2, 2), (2, 3), (2, 5)]
    assert edges_by_name(model) == {("a", "e"), ("a", "d"), ("e", "d")}


@pytest.mark.parametrize("opset", [7, 13, 21])
def test_types_that_the_model_does_not_state_are_what_really_comes_out(opset: int) -> None:
    first, second = (
        f"Unsqueeze<axes=[0]>({name})" if opset < 13 else f"Unsqueeze({name}, a)" for name in "pr"
    )
    text = (
        "g (float[2,3,8,9] x) => (float[A,B,C,D] y) <int64[1] a = {0}, int64[3] s = {2, 3, -1}> {"
        " p = AveragePool<kernel_shape=[2,3], strides=[2,2]>(x)"
        f" u = {first} t = Transpose<perm=[0,1,2,4,3]>(u) r = Reshape(p, s) f = {second}"
        " y = Neg(f) }"
    )
    model = extracted(text, opset)
    (y,) = run(content(text, opset), {"x": np.zeros((2, 3, 8, 9), np.float32)})
    assert shapes(model.layers[-1])[-1] == y.shape


@pytest.mark.parametrize("node", ["y = Relu(x)", "y = Identity()", "y = If()", "y = Shape()"])
def test_without_a_version_of_the_standard_domain_nothing_is_known(node: str) -> None:
    model = proto(f"g (float[2] x) => (y) {{ {node} }}")
    model.opset_import[0].domain = "com.example"
    (layer,) = extract(model.SerializeToString()).layers
    assert layer.kind == "skipped"
    assert "the model names no opset for it" in layer.reason or layer.op == "If"


def test_what_has_no_elements_is_left_out_of_what_is_joined() -> None:
    """As exporters write rotary positions of all columns, with those that stay as they are."""
    model = extracted(
        "g (float[2,4] x) => (z, w) <int64[1] end = {4}, int64[1] far = {9}, int64[1] last = {1}> {"
        " n = Neg(x) none = Slice(x, end, far, last) y = Concat<axis=1>(none, n) z = Abs(y)"
        " w = Concat<axis=1>(n, none, x) }"
    )
    assert sorted(kinds(model)) == [
        ("Abs", "compute"),
        ("Concat", "movement"),
        ("Concat", "view"),
        ("Neg", "compute"),
    ]
    joined = next(layer for layer in model.layers if layer.kind == "movement")
    assert shapes(joined) == [(2, 4), (2, 4), (2, 8)]


def test_what_is_joined_of_nothing_stays_as_it_is() -> None:
    model = extracted("g (float[0,4] x) => (z) { n = Neg(x) y = Concat<axis=0>(x, n) z = Abs(y) }")
    assert ("Concat", "view") in kinds(model)
