"""Gelus that are written out are found by what they compute, and nothing else is one."""

import re

import pytest

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.epilogue import RULE
from benanza_schemas.layer import Attribute
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted

HEAD = (
    "g (float[6,4] x, float[2,3,4] z) => ({out}) <float[4,4] w = [\"location\": \"w\"],"
    " float[4] b = [\"location\": \"w\"], float[3,4] rows = [\"location\": \"w\"],"
    " float half = {{0.5}}, float one = {{1.0}}, float three = {{3.0}}, float cubic = {{{cubic}}},"
    " float root = {{0.7978845608}}, float root2 = {{1.4142135624}}, int64[3] as = {{2, 3, 4}}>"
    " {{ p = Gemm(x, w, b) {body} }}"
)  # fmt: skip

TANH = (
    "h = Mul(half, v) c = Pow(v, three) k = Mul(c, cubic) s = Add(v, k) r = Mul(s, root)"
    " t = Tanh(r) a = Add(one, t) y = Mul(h, a)"
)
FAST = (
    "h = Mul(v, half) c = Mul(v, cubic) k = Mul(c, v) s = Add(k, one) u = Mul(v, root)"
    " r = Mul(u, s) t = Tanh(r) a = Add(t, one) y = Mul(h, a)"
)
ERF = "d = Div(v, root2) e = Erf(d) a = Add(e, one) m = Mul(v, a) y = Mul(m, half)"
ERF_OF_HALF = "h = Mul(v, half) d = Div(v, root2) e = Erf(d) a = Add(one, e) y = Mul(h, a)"


def model(body: str, value: str = "p", out: str = "y", cubic: str = "0.044715") -> ExtractedModel:
    return extracted(HEAD.format(body=re.sub(r"\bv\b", value, body), out=out, cubic=cubic))


def titles(found: ExtractedModel) -> list[str]:
    groups = [group for group in found.groups if group.rule == RULE]
    for group in groups:
        check_group(found, group)
    return [group.layer.title() for group in groups]


def fingerprints(found: ExtractedModel) -> list[str]:
    return [group.fingerprint for group in found.groups if group.rule == RULE]


@pytest.mark.parametrize(
    ("body", "approximate"),
    [(TANH, "tanh"), (FAST, "tanh"), (ERF, "none"), (ERF_OF_HALF, "none")],
)
def test_a_gelu_behind_a_product_is_onnxs_operator(body: str, approximate: str) -> None:
    found = model(body)
    natural = model(f'y = Gelu<approximate="{approximate}">(p)')
    assert titles(found) == titles(natural) == ["Gemm+Gelu"]
    assert fingerprints(found) == fingerprints(natural)
    (group,) = (group for group in found.groups if group.rule == RULE)
    assert group.layers == tuple(range(len(found.layers)))
    assert group.layer.operators[1].attributes == (Attribute("approximate", approximate),)


def test_constants_before_a_gelu_stay_as_they_are_where_there_is_no_view() -> None:
    gelu = ERF.replace("Div(v", "Div(m0").replace("Mul(v", "Mul(m0")
    found = extracted(
        "g (float[1,4,8,8] x) => (y) <float[4,4,3,3] w = [\"location\": \"w\"],"
        " float[4,1,1] k = [\"location\": \"w\"], float half = {0.5}, float one = {1.0},"
        " float root2 = {1.4142135624}> { c = Conv<pads=[1,1,1,1]>(x, w) m0 = Mul(c, k)"
        f" {gelu} }}"
    )  # fmt: skip
    assert titles(found) == ["Conv+Mul", "Conv+Mul+Gelu"]
    (group,) = (group for group in found.groups if group.layer.title() == "Conv+Mul+Gelu")
    assert [t.constant for t in group.layer.tensors if t.shape == (4, 1, 1)] == [True]


def test_what_follows_a_gelu_is_not_in_its_group() -> None:
    assert titles(model(f"{TANH} u = Relu(y)", out="u")) == ["Gemm+Gelu"]


def test_a_gelu_behind_a_view_is_one_as_well() -> None:
    found = model(f"q = Reshape(p, as) {TANH}", value="q")
    assert fingerprints(found) == fingerprints(model('y = Gelu<approximate="tanh">(p)'))


@pytest.mark.parametrize(
    ("body", "out", "cubic"),
    [
        (TANH, "y", "0.05"),  # another function
        (TANH.replace("three", "one"), "y", "0.044715"),
        (TANH.replace("Tanh", "Erf"), "y", "0.044715"),
        (ERF.replace("Erf", "Tanh"), "y", "0.044715"),
        (ERF.replace("Mul(v, a)", "Add(v, a)"), "y", "0.044715"),
        (ERF.replace("root2", "root"), "y", "0.044715"),
        (TANH, "y, t", "0.044715"),  # one of the results is returned
        (TANH, "y, p", "0.044715"),
        (f"{TANH} o = Relu(s)", "y, o", "0.044715"),  # others read one of the results
        (TANH.replace("Add(v, k)", "Add(x, k)"), "y", "0.044715"),  # of two values
        (TANH.replace("Mul(half, v)", "Mul(b, v)"), "y", "0.044715"),  # by column
    ],
)
def test_what_looks_like_a_gelu(body: str, out: str, cubic: str) -> None:
    assert titles(model(body, out=out, cubic=cubic)) == []


def test_views_behind_a_product_of_matrices() -> None:
    found = model("q = Reshape(p, as) m = Mul(q, b) a = Add(m, z) y = Relu(a)")
    natural = extracted(
        HEAD.format(body="m = Mul(p, b) a = Add(m, f) y = Relu(a)", out="y", cubic="1.0").replace(
            "float[2,3,4] z", "float[6,4] f"
        )
    )
    assert titles(found) == ["Gemm+Mul", "Gemm+Mul+Add", "Gemm+Mul+Add+Relu"]
    assert fingerprints(found) == fingerprints(natural)
    chains = [group.layers for group in found.groups if group.rule == RULE]
    assert chains == [(0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4)]


@pytest.mark.parametrize(
    "body",
    [
        "q = Reshape(p, as) y = Add(q, rows)",  # a constant for each of three rows
        "turn = Constant<value_ints=[4, 6]>() q = Reshape(p, turn) y = Relu(q)",  # other columns
        "q = Reshape(p, as) y = Softmax(q)",
        "y = Reshape(p, as)",
    ],
)
def test_what_no_view_of_rows_brings_together(body: str) -> None:
    assert titles(model(body)) == []
