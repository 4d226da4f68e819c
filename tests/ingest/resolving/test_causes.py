"""Why a layer is skipped: what is really the matter, and what would really help."""

import shlex
from collections.abc import Sequence

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.resolving.fold import MAX_ELEMENTS
from tests.ingest.onnx_text import extracted

node = helper.make_node


def tensor(
    name: str, shape: Sequence[int | str] | None, dtype: int = TensorProto.FLOAT
) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def model(
    nodes: list[NodeProto], inputs: list[ValueInfoProto], constants: Sequence[TensorProto] = ()
) -> bytes:
    """A model that returns what its last node makes."""
    outputs = [tensor(nodes[-1].output[0], None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", 21)]
    made: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    return made


def reasons(encoded: bytes, batch: int | None = None) -> list[str]:
    layers = extract(encoded, batch=batch).layers
    return [layer.reason for layer in layers if layer.kind == "skipped"]


def elsewhere(name: str, count: int) -> TensorProto:
    """Numbers whose data lie beside the model's file."""
    found = TensorProto(name=name, dims=[count], data_type=TensorProto.INT64)
    found.data_location = TensorProto.EXTERNAL
    place = found.external_data.add()
    place.key, place.value = "location", "weights.bin"
    return found


def of(name: str, *numbers: int) -> TensorProto:
    return numpy_helper.from_array(np.array(numbers, np.int64), name)


MISMATCHED = [node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["y"])]


def test_axes_of_one_name_in_one_input_are_asked_for_apart() -> None:
    """Some exporters call height and width alike, and they differ."""
    image = tensor("x", ["n", 3, "?", "?"])
    (found,) = reasons(model([node("Relu", ["x"], ["y"])], [image]))
    assert found.endswith("give --dim 'x[2]=N' --dim 'x[3]=N'")
    alike = [tensor("x", ["n", "?"]), tensor("z", ["n", "?"])]
    (found,) = reasons(model([node("Add", ["x", "z"], ["y"])], alike))
    assert found.endswith("give --dim '?=N'")


def test_where_the_batch_was_assumed_another_may_be_right() -> None:
    """The first axis is a length, of which the node leaves five."""
    made = model(
        [node("Reshape", ["x", "s"], ["y"])], [tensor("x", ["frames", 3])], [of("s", 5, -1)]
    )
    (found,) = reasons(made)
    assert "give --batch another number, or export the model again" in found
    assert reasons(made, batch=5) == []


def test_shapes_that_do_not_match_are_what_onnx_says_of_them() -> None:
    found = reasons(model(MISMATCHED, [tensor("x", [1, 10]), tensor("w", [11, 5])]))
    said = (
        "; onnx says of MatMul 'm': Incompatible dimensions for matrix multiplication; export the "
        "model again"
    )
    assert len(found) == 2
    assert all(reason.endswith(said) for reason in found)
    assert found[1].startswith("Relu: 'm' is no tensor, or its type isn't known")


def test_shapes_that_another_batch_size_spoils_are_refused() -> None:
    """Only the batch that the model was exported with fits its weight."""
    encoded = model(
        [node("Transpose", ["x"], ["t"]), node("MatMul", ["t", "w"], ["y"])],
        [tensor("x", [3, 10])],
        [TensorProto(name="w", dims=[3, 5], data_type=TensorProto.FLOAT, raw_data=bytes(60))],
    )
    assert reasons(encoded) == []
    with pytest.raises(
        ModelError, match=r"is lost at node 'y' \(MatMul\).*Incompatible dimensions"
    ):
        reasons(encoded, batch=2)


def test_shapes_that_a_dimension_spoils_say_so() -> None:
    text = "g (float[N,width] x, float[4,5] w) => (y) { y = MatMul(x, w) }"
    assert extracted(text, dims={"width": 4}).layers[0].kind == "compute"
    (layer,) = extracted(text, dims={"width": 3}).layers
    assert layer.reason.endswith(
        "; give --batch or --dim another number, or export the model again"
    )


def test_a_kernel_larger_than_the_image_says_what_would_come_out() -> None:
    found = reasons(
        model(
            [node("Conv", ["x", "w"], ["c"], name="first"), node("Relu", ["c"], ["y"])],
            [tensor("x", [1, 3, 4, 4]), tensor("w", [8, 3, 7, 7])],
        )
    )
    assert len(found) == 2
    for reason in found:
        assert "onnx says of Conv 'first': its result would have the sizes [1, 8, -2, -2]" in reason
        assert "depends on" not in reason


def test_what_onnx_says_is_one_line_and_not_long() -> None:
    axis = node("Concat", ["x"] * 300, ["y"], axis=5)
    (reason,) = reasons(model([axis], [tensor("x", [2, 3])]))
    assert "onnx says of Concat 'y'" in reason
    assert "Error]" not in reason
    assert len(reason) < 400
    assert "\n" not in reason


def test_an_input_without_a_declared_shape_is_named() -> None:
    encoded = model(
        [node("Relu", ["x"], ["r"]), node("MatMul", ["r", "w"], ["y"])],
        [tensor("x", None), tensor("w", [4, 5])],
    )
    found = reasons(encoded)
    assert len(found) == 2
    said = "; the input 'x' has no declared shape; export the model with one"
    assert all(reason.endswith(said) for reason in found)


@pytest.mark.parametrize("computed", [False, True])
def test_a_constant_outside_the_file_is_named(computed: bool) -> None:
    """Also where the shape is only computed from it."""
    add = [node("Add", ["s", "one"], ["t"])] if computed else []
    reshape = node("Reshape", ["x", "t" if computed else "s"], ["r"])
    constants = [elsewhere("s", 2), of("one", 1)]
    nodes = [*add, reshape, node("Relu", ["r"], ["y"])]
    found = reasons(model(nodes, [tensor("x", [1, 10])], constants))
    assert len(found) == 2
    said = "; it needs the constant 's', which is stored outside the file; save the model with"
    assert all(said in reason for reason in found)


def test_a_constant_that_a_node_states_may_lie_outside_as_well() -> None:
    constant = node("Constant", [], ["s"], value=elsewhere("value", 2))
    reshape = node("Reshape", ["x", "s"], ["y"])
    (reason,) = reasons(model([constant, reshape], [tensor("x", [1, 10])]))
    assert "it needs the constant 's', which is stored outside the file" in reason


def test_weights_outside_the_file_are_no_reason() -> None:
    """Of a weight only the shape is asked: what the reshape of one lacks is its shape."""
    nodes = [node("Reshape", ["w", "s"], ["r"]), node("Add", ["x", "r"], ["y"])]
    encoded = model(nodes, [tensor("x", [4], TensorProto.INT64)], [elsewhere("w", 4), of("s", 4)])
    assert reasons(encoded) == []
    encoded = model(
        nodes, [tensor("x", [4], TensorProto.INT64)], [elsewhere("w", 4), elsewhere("s", 1)]
    )
    (reason,) = reasons(encoded)
    assert "needs the constant 's'" in reason


def test_a_constant_whose_elements_do_not_fit_is_named() -> None:
    broken = TensorProto(name="s", dims=[2], data_type=TensorProto.INT64, raw_data=b"odd")
    (reason,) = reasons(
        model([node("Reshape", ["x", "s"], ["y"])], [tensor("x", [1, 10])], [broken])
    )
    assert reason.endswith("; it needs the constant 's', whose elements can't be read")


def test_a_constant_that_is_not_computed_here_says_so() -> None:
    """Too many elements, or an operator that shapes seldom need."""
    nodes = [node("Erf", ["s"], ["t"]), node("Reshape", ["x", "t"], ["y"])]
    (reason,) = reasons(model(nodes, [tensor("x", [1, 10])], [of("s", 2, 5)]))
    assert "the constant 't' is computed by Erf, which isn't done here" in reason
    many = [
        node("Expand", ["one", "count"], ["axes"]),
        node("ReduceSum", ["x", "axes"], ["y"]),
    ]
    constants = [of("one", 1), of("count", MAX_ELEMENTS + 1)]
    (reason,) = reasons(model(many, [tensor("x", [1, 10])], constants))
    assert "the constant 'axes' is computed by Expand" in reason


@pytest.mark.parametrize(
    "text",
    [
        "g (float[N,t] x) => (y) { i = NonZero(x) y = Transpose(i) }",
        "g (float[N,t] x, bool[4] c) => (y) { k = Compress(x, c) y = Relu(k) }",
        "g (float[6] x, int64[99] s) => (y) <int64[1] one = {1}> { m = ReduceMax(s)"
        " k = Reshape(m, one) v, i = TopK(x, k) y = Relu(v) }",
        "g (float[6] x) => (y) { n = NonZero(x) r = Reshape(x, n) y = Relu(r) }",
    ],
)
def test_what_depends_on_data_says_so_and_no_dimension_is_asked_for(text: str) -> None:
    last = extracted(text).layers[-1]
    assert last.kind == "skipped"
    assert last.reason.endswith("; it depends on the data")


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("g (float[6] x, int64[2] s) => (y) { r = Reshape(x, s) y = Relu(r) }", "--value s=VALUE"),
        (
            "g (float[6] x, int64 k, int32 n) => (y) <int64[1] one = {1}> { c = Cast<to=7>(n)"
            " m = Mul(k, c) l = Reshape(m, one) v, i = TopK(x, l) y = Relu(v) }",
            "--value n=VALUE --value k=VALUE",
        ),
        (
            "g (float[6] x, int64[2] k, float[N,t] z) => (v) { r = Reshape(x, k) y = Relu(r)"
            " w = Add(y, z) v = Neg(w) }",
            "--dim t=N --value k=VALUE",
        ),
    ],
)
def test_what_small_inputs_decide_asks_for_their_values(text: str, asked: str) -> None:
    reason = extracted(text).layers[-1].reason
    assert reason.endswith(f"; give {asked}")


@pytest.mark.parametrize("name", ["past_sequence_length + sequence_length", "batch _size", "a'b=c"])
def test_what_is_to_be_given_can_be_pasted_into_a_shell(name: str) -> None:
    open_model = model([node("Relu", ["x"], ["y"])], [tensor("x", [2, name])])
    (reason,) = reasons(open_model)
    assert shlex.split(reason.rpartition("; give ")[2]) == ["--dim", f"{name}=N"]


def test_only_the_dimensions_that_help_are_asked_for_and_each_once() -> None:
    square = "g (float[3] b, float[s,s] x) => (y) { y = Mul(x, x) }"
    (layer,) = extracted(square).layers
    assert layer.reason == "Mul: 'x' has shape [s, s]; give --dim s=N"
    text = (
        "g (float[3] b, float[s,4] x, float[t,4] z, float[u,4] w) => (y, v)"
        " { y = Concat<axis=0>(x, z) a = Add(y, y) v = Relu(w) }"
    ).replace("(y, v)", "(a, v)")
    found = {layer.name: layer.reason for layer in extracted(text).layers}
    assert found["a"].endswith("]; give --dim s=N --dim t=N")
    assert found["v"].endswith("]; give --dim u=N")


def test_a_shape_computed_from_an_open_dimension_asks_for_it() -> None:
    text = (
        "g (float[N,s] x) => (z) <int64 one = {1}, int64[1] rest = {-1}> {"
        " d = Shape<start=1>(x) e = Add(d, one) f = Concat<axis=0>(e, rest)"
        " y = Reshape(x, f) z = Neg(y) }"
    )
    found = extracted(text).layers
    assert [layer.kind for layer in found] == ["skipped", "skipped"]
    for layer in found:
        assert layer.reason.endswith("; give --dim s=N")


def test_a_long_chain_of_shape_arithmetic_is_followed_to_its_end() -> None:
    adds = [node("Add", [f"s{i}", "one"], [f"s{i + 1}"]) for i in range(3000)]
    reshape = node("Reshape", ["x", "s3000"], ["y"])
    constants = [elsewhere("s0", 2), of("one", 1)]
    (reason,) = reasons(model([*adds, reshape], [tensor("x", [1, 10])], constants))
    assert "it needs the constant 's0'" in reason


BRANCHES = "then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Exp(x) }"


def test_an_if_whose_condition_an_open_dimension_decides_asks_for_it() -> None:
    text = (
        "g (float[N,s] x) => (y) <int64[1] one = {1}> { d = Shape<start=1>(x) c = Equal(d, one)"
        f" y = If (c) <{BRANCHES}> }}"
    )
    _, layer = extracted(text).layers
    assert layer.reason == (
        "If: the cheaper branch counts, and the other isn't counted (nodes: 1); give --dim s=N"
    )
    assert [layer.op for layer in extracted(text, dims={"s": 1}).layers] == ["Relu"]


def test_an_if_whose_condition_lies_outside_the_file_says_so() -> None:
    text = (
        'g (float[2] x) => (y) <bool[1] c = ["location": "weights.bin"]>'
        f" {{ y = If (c) <{BRANCHES}> }}"
    )
    _, layer = extracted(text).layers
    assert "it needs the constant 'c', which is stored outside the file" in layer.reason


def test_an_if_with_more_than_one_condition_says_so() -> None:
    text = f"g (float[2] x) => (y) <bool[2] c = {{1, 0}}> {{ y = If (c) <{BRANCHES}> }}"
    (layer,) = extracted(text).layers
    assert "the condition of If 'y' is no single value" in layer.reason


def test_what_follows_an_if_that_data_decide_depends_on_them_too() -> None:
    text = (
        "g (float[99] d, float[2] x) => (z) { s = ReduceSum<keepdims=0>(d) c = Cast<to=9>(s)"
        " y = If (c) <then_branch = t () => (a) { a = Exp(x) },"
        " else_branch = e () => (b) { b = ReduceMax(x) }> z = Neg(y) }"
    )
    choice, after = extracted(text).layers[-2:]
    why = "; its condition depends on data: export the model with it fixed"
    assert choice.reason.endswith(why)
    assert after.reason == f"Neg: 'y' has shape [?]{why}"


def test_what_reads_an_unknown_operator_names_it() -> None:
    text = "g (float[2,3] x) => (z) { y = com.example.Magic(x) w = Relu(y) z = Abs(w) }"
    for layer in extracted(text, domains={"com.example": 3}).layers[1:]:
        assert layer.reason.endswith("; com.example::Magic isn't known to the installed onnx")


def test_a_sequence_that_data_decide_says_so() -> None:
    text = (
        "g (float[4] x, float[5] w, int64 i) => (y) {"
        " s = SequenceConstruct(x, w) t = SequenceAt(s, i) y = Relu(t) }"
    )
    last = extracted(text).layers[-1]
    assert last.reason.endswith("; give --value i=VALUE")


def test_an_input_that_is_no_tensor_is_named() -> None:
    encoded = model(
        [node("SequenceAt", ["s", "i"], ["t"]), node("Relu", ["t"], ["y"])],
        [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)],
        [of("i", 0)],
    )
    found = reasons(encoded)
    assert len(found) == 2
    for reason in found:
        assert reason.endswith("; the input 's' is no tensor of a known element type")
