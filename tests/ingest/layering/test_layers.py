"""From nodes to layers: identity, kinds, and the reason where there is none."""

from typing import Any

import pytest
from onnx import ModelProto, helper

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from benanza_schemas.identity import canonical, fingerprint
from tests.ingest.onnx_text import by_name, content, extracted, kinds, only_layer, proto, shapes
from tests.ingest.real_models import ALL, DEPEND_ON_DATA
from tests.ingest.real_models import extracted as real


@pytest.mark.parametrize("name", ALL)
def test_layers_are_canonical_and_their_fingerprints_their_own(name: str) -> None:
    for layer in real(name).layers:
        if layer.layer is None:
            assert name in DEPEND_ON_DATA
            continue
        assert canonical(layer.layer) == layer.layer
        assert fingerprint(layer.layer) == layer.fingerprint
        (operator,) = layer.layer.operators
        assert (operator.op_type, operator.domain) == (layer.op, layer.domain)
        assert layer.reason == ""


def test_names_and_weights_do_not_count() -> None:
    one = only_layer(
        'g (float[2,4] x) => (y) <float[4,3] w = ["location": "w"]> { y = MatMul(x, w) }'
    )
    other = only_layer(
        "g (float[2,4] a) => (b) <float[4,3] c = {1,2,3,4,5,6,7,8,9,10,11,12}> {"
        " [name] b = MatMul(a, c) }"
    )
    assert one.layer == other.layer
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Operator, element type, shape, which inputs are constant, wiring.
        ("g (float[2,4] x) => (y) { y = Relu(x) }", "g (float[2,4] x) => (y) { y = Tanh(x) }"),
        ("g (float[2,4] x) => (y) { y = Relu(x) }", "g (double[2,4] x) => (y) { y = Relu(x) }"),
        ("g (float[2,4] x) => (y) { y = Relu(x) }", "g (float[4,2] x) => (y) { y = Relu(x) }"),
        ("g (float[2,4] x, float[4] w) => (y) { y = Add(x, w) }",
         'g (float[2,4] x) => (y) <float[4] w = ["location": "w"]> { y = Add(x, w) }'),
        ("g (float[4] x, float[4] w) => (y) { y = Add(x, w) }",
         "g (float[4] x, float[4] w) => (y) { y = Add(x, x) }"),
        # Constants that decide.
        ("g (float[2,4] x) => (y) <int64[1] s = {0}> { y = ReduceSum(x, s) }",
         "g (float[2,4] x) => (y) <int64[1] s = {-2}> { y = ReduceSum(x, s) }"),
        ("g (float[6] x) => (y) <int64[1] b = {0}, int64[1] e = {3}> { y = Slice(x, b, e) }",
         "g (float[6] x) => (y) <int64[1] b = {1}, int64[1] e = {4}> { y = Slice(x, b, e) }"),
        ('g (float[4] x) => (y) <float m = {6}> { y = Clip(x, "", m) }',
         'g (float[4] x) => (y) <float m = {1}> { y = Clip(x, "", m) }'),
        ("g (float[4] x) => (y) <float m = {2}> { y = Pow(x, m) }",
         "g (float[4] x) => (y) <float m = {3}> { y = Pow(x, m) }"),
        ('g (float[4] x) => (y) <float m = {6}> { y = Clip(x, "", m) }',
         'g (float[4] x) => (y) <float m = {6}> { y = Clip(x, m) }'),
        # Attributes.
        ("g (float[4,4] x) => (y) { y = Gemm(x, x) }",
         "g (float[4,4] x) => (y) { y = Gemm<transA=1>(x, x) }"),
    ],
)  # fmt: skip
def test_what_makes_another_layer(one: str, other: str) -> None:
    assert only_layer(one).fingerprint != only_layer(other).fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("g (float[2,4] x) => (y) { y = Softmax<axis=-1>(x) }",
         "g (float[2,4] x) => (y) { y = Softmax(x) }"),
        ("g (float[2,4] x) => (y) <int64[1] s = {1}> { y = ReduceSum(x, s) }",
         "g (float[2,4] x) => (y) { s = Constant<value_ints=[1]>() y = ReduceSum(x, s) }"),
        ('g (float[4] x) => (y) { y = Clip(x, "", "") }', "g (float[4] x) => (y) { y = Clip(x) }"),
        ('g (float[4] x) => (y) <float[4] b = {1,2,3,4}> { y = Add(x, b) }',
         'g (float[4] x) => (y) <float[4] b = {5,6,7,8}> { y = Add(x, b) }'),
        ("g (float[2,4] x) => (y) { y = Relu(x) }",
         "g (float[2,4] x) => (y) { y = ai.onnx.Relu(x) }"),
    ],
)  # fmt: skip
def test_what_makes_the_same_layer(one: str, other: str) -> None:
    assert only_layer(one).fingerprint == only_layer(other).fingerprint


def test_the_version_is_the_one_that_last_changed_the_operator() -> None:
    """A model of a newer opset shares the layers that did not change."""
    text = "g (float[2,4] x) => (y) { y = Tanh(x) }"
    assert only_layer(text, 13).fingerprint == only_layer(text, 24).fingerprint
    assert only_layer(text, 12).fingerprint != only_layer(text, 13).fingerprint


def test_the_batch_size_is_part_of_the_shape() -> None:
    text = "g (float[N,4] x) => (y) { y = Relu(x) }"
    one, two = (extracted(text, batch=batch).layers[0] for batch in (1, 2))
    assert one.fingerprint != two.fingerprint


def test_alike_nodes_are_one_layer_each_with_its_own_name() -> None:
    model = extracted("g (float[4] x) => (y) { [a] t = Relu(x) [b] u = Relu(t) [c] y = Relu(u) }")
    assert [layer.name for layer in model.layers] == ["a", "b", "c"]
    assert len({layer.fingerprint for layer in model.layers}) == 1


def test_alike_nodes_that_are_wired_differently_are_not_alike() -> None:
    model = extracted(
        "g (float[4] x, float[4] z) => (y) { a = Mul(x, x) b = Mul(x, z) c = Mul(z, z)"
        " d = Sum(a, a, b) e = Sum(a, b, b) f = Sum(a, b, a) y = Sum(d, e, f, c) }"
    )
    found = by_name(model)
    assert found["a"].fingerprint == found["c"].fingerprint != found["b"].fingerprint
    assert len({found[name].fingerprint for name in "def"}) == 3


def test_a_nameless_node_goes_by_its_first_output() -> None:
    model = extracted(
        "g (float[4] x) => (b) { a, b = Split<num_outputs=2>(x) }".replace("=> (b)", "=> (a, b)")
    )
    assert model.layers[0].name == "a"


def test_an_output_left_out_is_no_tensor() -> None:
    text = "g (float[1,1,4,4] x) => (y) {{ y{} = MaxPool<kernel_shape=[2,2]>(x) }}"
    with_name, left_out, without = (only_layer(text.format(o)) for o in (", i", ', ""', ""))
    assert with_name.layer == left_out.layer == without.layer
    assert shapes(without) == [(1, 1, 4, 4), (1, 1, 3, 3)]


def test_strings_are_skipped_with_the_reason() -> None:
    layer = only_layer(
        'g (string[4] x) => (y) { y = StringSplit<delimiter=" ">(x) }'.replace("y = S", "y, n = S")
    )
    assert layer.kind == "skipped"
    assert "'x' holds strings, which no accelerator works on" in layer.reason


def test_an_activation_that_is_too_large_is_refused() -> None:
    text = "g (float[1000,1] x, float[1,1000] z) => (y) { y = Add(x, z) }"
    assert len(extracted(text, limits=Limits(tensor_elements=1_000_000)).layers) == 1
    with pytest.raises(ModelError, match=r"tensor 'y' of shape \[1000, 1000\] has more than 999"):
        extracted(text, limits=Limits(tensor_elements=999_999))


def test_more_operations_than_can_be_are_refused() -> None:
    vectors = ", ".join(f"float[1000000000000] {name}" for name in "abc")
    text = f'g ({vectors}) => (y) {{ y = Einsum<equation="i,j,k->">(a, b, c) }}'
    with pytest.raises(ModelError, match=r"\(Einsum\) takes more than 2\^60 operations"):
        extracted(text)


@pytest.mark.parametrize(
    ("op_type", "attributes"),
    [
        ("AveragePool", {"kernel_shape": [2, -1]}),
        ("Transpose", {"perm": [0, 9, 1, 2]}),
        ("MaxPool", {"kernel_shape": "text"}),
        ("Einsum", {"equation": [1, 2]}),
        ("LRN", {"size": "text"}),
    ],
)
def test_a_node_that_contradicts_its_definition_is_skipped_or_counted_but_no_crash(
    op_type: str, attributes: dict[str, Any]
) -> None:
    """Its result is of the type that the file states, so that inference doesn't object."""
    node = helper.make_node(op_type, ["x"], ["y"], name="odd", **attributes)
    model = proto("g (float[1,2,3,4] x) => (float[1,2,3,4] y) { y = Relu(x) }")
    model.graph.node[0].CopyFrom(node)
    (layer,) = extract(model.SerializeToString()).layers
    assert layer.flops >= 0
    if layer.kind == "skipped":
        assert "export" in layer.reason or "depends on the data" in layer.reason


def test_a_node_that_cannot_be_worked_out_says_so() -> None:
    model = proto("g (float a, float[4] x) => (float[4] y) { y = Gemm(a, x) }")
    (layer,) = extract(model.SerializeToString()).layers
    assert layer.kind == "skipped"
    assert "Gemm isn't as ONNX defines it" in layer.reason
    assert "export the model again" in layer.reason


def test_long_reasons_and_names_stay_on_one_line() -> None:
    model = proto("g (float[2,3] x) => (y) { [name] y = Odd.Op(x) }", domains={"Odd": 1})
    model.graph.node[0].op_type = "two\nlines"
    (layer,) = extract(model.SerializeToString()).layers
    assert "\n" not in layer.reason


def test_element_types_of_any_width() -> None:
    model = ModelProto.FromString(content("g (float[3] x) => (y) { y = Identity(x) }"))
    for number in range(1, 29):
        if number == 8:
            continue
        model.graph.input[0].type.tensor_type.elem_type = number
        (layer,) = extract(model.SerializeToString()).layers
        assert layer.kind == "view", layer.reason


def test_kinds_of_layers() -> None:
    model = extracted(
        "g (float[2,6] x, bool c) => (y, v) <int64[1] s = {12}> { a = Relu(x) b = Transpose(a)"
        " d = Reshape(b, s) y = com.example.Op(d) v = If (c) <then_branch = t () => (o)"
        " { o = Neg(x) }, else_branch = e () => (o) { o = Abs(x) }> }",
        domains={"com.example": 1},
    )
    assert kinds(model) == [
        ("Relu", "compute"),
        ("Transpose", "movement"),
        ("Reshape", "view"),
        ("Op", "skipped"),
        ("Neg", "compute"),
        ("If", "skipped"),
    ]
    for layer in model.layers:
        assert (layer.layer is None) == (layer.kind == "skipped") == bool(layer.reason)


def test_operators_of_onnx_runtime_may_only_move() -> None:
    domains = {"com.microsoft": 1, "com.microsoft.nchwc": 1}
    model = extracted(
        """g (float[1,16,4,4] x, float[4,4] m) => (o, t, p) <int32 axis = {0}, int64[4] pads =
        {0, 1, 0, 1}> { b = com.microsoft.nchwc.ReorderInput(x) r = com.microsoft.nchwc.MaxPool
        <kernel_shape = [2,2]> (b) o = com.microsoft.nchwc.ReorderOutput <channels = 16> (r)
        e = com.microsoft.ExpandDims(m, axis) t = com.microsoft.Trilu(e)
        p = com.microsoft.Pad(m, pads) }""",
        domains=domains,
    )
    found = dict(kinds(model))
    assert found.pop("MaxPool") == "compute"
    assert found == dict.fromkeys(
        ("ReorderInput", "ReorderOutput", "ExpandDims", "Trilu", "Pad"), "movement"
    )
    assert all(layer.flops == 0 for layer in model.layers if layer.op != "MaxPool")
