"""What moves an operand or a result of a product is in a group with it, if strides can say so."""

import pytest

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.in_place import RULE
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import extracted as real

HEAD = (
    "g (float[2,5,24] x, float[2,7,24] y, float[2,24,5] z) => ({out})"
    ' <float[24,9] a = ["location": "w"], float[5,9] b = ["location": "w"],'
    ' float[9] c = ["location": "w"], int64[4] heads = {{2, 5, 3, 8}}, int64[1] one = {{1}},'
    " int64[1] last = {{2}}, int64[1] lo = {{8}}, int64[1] hi = {{16}}, int64[2] rows = {{10, 24}},"
    " int64[1] back = {{-1}}, int64 first = {{0}}> {{ {body} }}"
)


def titles(model: ExtractedModel) -> list[str]:
    found = [group for group in model.groups if group.rule == RULE]
    for group in found:
        check_group(model, group)
    return ["+".join(model.layers[at].op for at in group.layers) for group in found]


def moved(body: str, out: str = "n") -> list[str]:
    return titles(extracted(HEAD.format(body=body, out=out), opset=23))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("t = Transpose<perm=[0,2,1]>(x) n = MatMul(t, b)", ["Transpose+MatMul"]),
        ("t = Transpose<perm=[0,2,1]>(y) n = MatMul(x, t)", ["Transpose+MatMul"]),
        (
            "t = Transpose<perm=[0,2,1]>(x) m = MatMul(t, b) n = Add(c, m)",
            ["Transpose+MatMul", "Transpose+MatMul+Add"],
        ),
        (
            "r = Reshape(x, heads) t = Transpose<perm=[0,2,1,3]>(r)"
            " u = Transpose<perm=[0,1,3,2]>(t) n = MatMul(t, u)",
            ["Transpose+MatMul"],  # the first is read twice
        ),
        (
            "s = Slice(x, lo, hi, last) t = Transpose<perm=[0,2,1]>(s) n = MatMul(t, b)",
            ["Slice+Transpose+MatMul"],
        ),
        (
            "m = MatMul(x, a) n = Transpose<perm=[0,2,1]>(m)",
            ["MatMul+Transpose"],
        ),
        (
            "t = Transpose<perm=[0,2,1]>(z) m = MatMul(t, a) n = Transpose<perm=[1,0,2]>(m)",
            ["Transpose+MatMul+Transpose", "Transpose+MatMul"],
        ),
        (
            "r = Reshape(x, rows) m = Gemm(r, a) n = Transpose<perm=[1,0]>(m)",
            ["Gemm+Transpose"],
        ),
    ],
)
def test_what_strides_can_say(body: str, wanted: list[str]) -> None:
    assert moved(body) == wanted


@pytest.mark.parametrize(
    ("body", "out"),
    [
        ("n = MatMul(x, a)", "n"),
        ("t = Transpose<perm=[0,2,1]>(x) n = MatMul(t, b) m = Relu(t)", "n, m"),  # read elsewhere
        ("t = Transpose<perm=[0,2,1]>(x) n = MatMul(t, b)", "n, t"),
        ("r = Relu(x) n = MatMul(r, a)", "n"),
        ("r = Reshape(x, rows) n = MatMul(r, a)", "n"),  # nothing is moved
        ("s = Slice(x, hi, lo, last, back) n = MatMul(s, s)", "n"),
        ("t = Transpose<perm=[1,0,2]>(x) r = Reshape(t, rows) n = MatMul(r, a)", "n"),
        ("s = Gather<axis=1>(x, first) n = MatMul(s, a)", "n"),
        # The bias would be one for each column of what is written.
        ("r = Reshape(x, rows) m = Gemm(r, a, c) n = Transpose<perm=[1,0]>(m)", "n"),
        ("t = Transpose<perm=[0,2,1]>(x) d = Dropout(t) n = MatMul(d, b)", "n"),
        ("m = MatMul(x, a) d = Dropout(m) n = Transpose<perm=[0,2,1]>(d)", "n"),
    ],
)
def test_what_they_can_not(body: str, out: str) -> None:
    assert moved(body, out) == []


@pytest.mark.parametrize("name", ["timm-mixer_s32_224", "timm-mixer_s32_224-raw"])
def test_the_mixer_s_products_of_transposed_tokens(name: str) -> None:
    assert {title.split("+")[0] for title in titles(real(name))} >= {"Transpose"}


@pytest.mark.parametrize("name", ["timm-vit_tiny_patch16_224", "transformers-bert"])
def test_products_of_an_attention_are_left_to_it(name: str) -> None:
    assert titles(real(name)) == []
