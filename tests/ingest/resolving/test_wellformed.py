"""Nodes that break the rules are refused before compiled code, which may end the process."""

from pathlib import Path

import pytest
from onnx import TensorProto, helper

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from tests.ingest.measuring import measure
from tests.ingest.onnx_text import content, extracted, kinds


@pytest.mark.parametrize(
    ("node", "complaint"),
    [
        ("y = Conv(x)", r"\(Conv\) has 1 inputs, and takes 2 to 3; export"),
        ("y = Relu(x, x)", r"\(Relu\) has 2 inputs, and takes 1; export"),
        ("y = Relu()", "has 0 inputs"),
        ("y, z = Relu(x)", "has 2 outputs, and takes 1"),
        ("y = Shape()", "has 0 inputs"),
        ("y, z = Constant<value_int = 1>()", "has 2 outputs"),
        ("y = SequenceAt(x)", "has 1 inputs, and takes 2"),
        ("y = If()", "has 0 inputs"),
        ('y = Clip("", x)', "lacks input 1"),
        ('y = Add(x, "")', "lacks input 2"),
    ],
)
def test_a_node_with_inputs_or_outputs_that_it_cannot_have_is_refused(
    node: str, complaint: str
) -> None:
    with pytest.raises(ModelError, match=complaint):
        extracted(f"g (float[2,3] x) => (y) {{ {node} }}")


def test_a_node_is_named_by_its_name_or_its_first_output() -> None:
    with pytest.raises(ModelError, match=r"node 'mine' \(Relu\)"):
        extracted("g (float[2] x) => (y) { [mine] y = Relu(x, x) }")
    with pytest.raises(ModelError, match=r"node 'y' \(Relu\)"):
        extracted("g (float[2] x) => (y) { y = Relu(x, x) }")


def test_nodes_of_bodies_are_looked_at_too() -> None:
    with pytest.raises(ModelError, match=r"node 'a' \(Relu\) has 2 inputs"):
        extracted(
            "g (bool c, float[2] x) => (y) { y = If (c) <"
            " then_branch = t () => (a) { a = Relu(x, x) },"
            " else_branch = e () => (b) { b = Relu(x) }> }"
        )


def test_optional_inputs_may_be_left_out() -> None:
    model = extracted('g (float[2] x, float m) => (y) { y = Clip(x, "", m) }')
    assert kinds(model) == [("Clip", "compute")]


def test_of_an_unknown_operator_anything_goes() -> None:
    model = extracted(
        "g (float[2] x) => (y) { y, z, w = com.example.Op(x, , x) }",
        domains={"com.example": 1},
    )
    assert kinds(model) == [("Op", "skipped")]


FATAL = {
    "an axis beyond 32 bits": content(
        "g (float[2,3] x, float[3] w) => (y){ y = LayerNormalization<axis = 2147483648>(x, w) }"
    ),
    "batch axes before the first": content(
        "g (float[2,3] x, int64[1,1] i) => (y) { y = GatherND<batch_dims = -2147483648>(x, i) }"
    ),
    "an input left out": content(
        'g (string[5] x) => (y) { y = RegexFullMatch<pattern = "a">("") }'
    ),
    "an input left out in a body": content(
        "g (bool c, string[5] x) => (y) { y = If (c) <"
        ' then_branch = t () => (a) { a = RegexFullMatch<pattern = "a">("") },'
        ' else_branch = e () => (b) { b = RegexFullMatch<pattern = "a">(x) }> }'
    ),
    "fewer outputs than there are": content(
        "g (float[6] x) => (y, z, w) { y, z, w = Split<num_outputs = 2>(x) }"
    ),
    "outputs by the billion": content(
        "g (float[7] x) => (y, z) { y, z = Split<num_outputs = 2147483648>(x) }"
    ),
}
"""Each of these ends the process, or takes 16 GB, where onnx 1.23 infers its shapes."""


@pytest.mark.integration
@pytest.mark.parametrize("case", FATAL)
def test_what_would_end_the_process_is_refused(case: str, tmp_path: Path) -> None:
    taken = measure(FATAL[case], tmp_path)
    assert "export it again" in taken.said
    assert taken.bytes < 100_000_000
    assert taken.seconds < 5


def test_axes_that_can_be_are_taken() -> None:
    for axis in (-1, 1, -2):
        model = extracted(
            f"g (float[2,3] x, float[3] w) => (y) {{ y = LayerNormalization<axis={axis}>(x, w) }}"
        )
        assert kinds(model) == [("LayerNormalization", "compute")]
    halves = extracted("g (float[7] x) => (y, z) { y, z = Split<num_outputs = 2>(x) }")
    assert kinds(halves) == [("Split", "movement")]


@pytest.mark.parametrize(
    "equation", [b"\xff\xfe", b">", b"ab>", b"a-b", b"a....", b"..., >b", b"1i"]
)
def test_an_equation_that_is_none(equation: bytes) -> None:
    # Shape inference in onnx 1.23 doesn't end with some of these.
    node = helper.make_node("Einsum", ["x"], ["y"], equation=equation)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", values[:1], values[1:]))
    with pytest.raises(ModelError, match="equation"):
        extract(model.SerializeToString())
