"""Products of one operand by constants of one kind are one group, with their biases another."""

import pytest

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.merged import RULE
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import extracted as real

HEAD = (
    "g (float[2,5,8] x, float[2,8] f, float[2,5,8] z, float[1,4,9,9] i, float[8,8] u) => ({out})"
    ' <float[8,8] a = ["location": "w"], float[8,8] b = ["location": "w"],'
    ' float[8,4] c = ["location": "w"], float[8] k = ["location": "w"],'
    ' float[8] l = ["location": "w"], float[6,4,1,1] p = ["location": "w"]> {{ {body} }}'
)


def titles(model: ExtractedModel) -> list[str]:
    found = [group for group in model.groups if group.rule == RULE]
    for group in found:
        check_group(model, group)
        assert len(group.layer.outputs) > 1
    return ["+".join(model.layers[at].op for at in group.layers) for group in found]


def merged(body: str, out: str = "y, v") -> list[str]:
    return titles(extracted(HEAD.format(body=body, out=out), opset=23))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("y = MatMul(x, a) v = MatMul(x, b)", ["MatMul+MatMul"]),
        ("y = Gemm(f, a, k) v = Gemm(f, b, l)", ["Gemm+Gemm"]),
        (
            "m = MatMul(x, a) n = MatMul(x, b) y = Add(m, k) v = Add(l, n)",
            ["MatMul+MatMul", "MatMul+MatMul+Add+Add"],
        ),
        ("m = MatMul(x, a) n = MatMul(x, b) y = Add(m, k) v = Relu(n)", ["MatMul+MatMul"]),
        ("m = MatMul(x, a) n = MatMul(x, b) y = Add(m, z) v = Add(n, l)", ["MatMul+MatMul"]),
    ],
)
def test_products_of_one_operand(body: str, wanted: list[str]) -> None:
    assert merged(body) == wanted


@pytest.mark.parametrize(
    "body",
    [
        "y = MatMul(x, a) v = MatMul(z, a)",  # of two operands
        "y = MatMul(x, a) v = MatMul(x, u)",  # no constant
        "y = MatMul(a, u) v = MatMul(b, u)",
        "y = MatMul(f, a) v = Gemm(f, a)",
        "y = Gemm<alpha = 2.0>(f, a) v = Gemm(f, a)",
        "y = Gemm(f, a, k) v = Gemm(f, b)",
        "y = MatMul(x, a) v = MatMul(x, c)",  # another size
        "y = Conv(i, p) v = Conv(i, p)",
        "y = MatMul(x, a) v = MatMul(y, a)",  # one waits for the other
    ],
)
def test_what_is_no_such_group(body: str) -> None:
    assert merged(body) == []


def test_many_products_are_several_groups() -> None:
    body = " ".join(f"v{n} = MatMul(x, a)" for n in range(9))
    found = merged(body, ", ".join(f"v{n}" for n in range(9)))
    assert found == ["+".join(["MatMul"] * 4)] * 2


def test_real_models_have_queries_keys_and_values_of_one_operand() -> None:
    found = titles(real("transformers-llama"))
    # Queries are of another size than keys and values.
    assert found == ["MatMul+MatMul", "MatMul+MatMul"] * 3
    with_bias = "MatMul+Add+MatMul+Add+MatMul+Add"
    assert titles(real("transformers-bert")) == ["MatMul+MatMul+MatMul", with_bias] * 4
