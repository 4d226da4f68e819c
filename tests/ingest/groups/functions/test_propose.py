"""Functions that are written out are groups with their numbers, however they are written."""

import numpy as np
import pytest

from benanza_ingest.extracted import ExtractedGroup, ExtractedModel
from benanza_ingest.groups.functions.propose import RULE
from benanza_ingest.groups.regions import propose as regions
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted

NUMBERS = (
    "float root2 = {{1.4142135624}}, float one = {{{one}}}, float half = {{0.5}},"
    " float two = {{2.0}}, float eps = {{{eps}}}, float third = {{3.0}}, float k = {{0.044715}},"
    " float root = {{0.7978845608}}, float more = {{1.702}}"
)
TEXT = (
    'g (float[2,3,8] x, float[2,3,8] s) => ({out}) <float[8] w = ["location": "w"],'
    ' float[8] b = ["location": "w"], float[8,8] m = ["location": "w"], '
    + NUMBERS
    + "> {{ {body} }}"
)
MEAN = "<axes=[-1]>"

GELU = "d = Div(x, root2) e = Erf(d) a = Add(e, one) p = Mul(x, a) y = Mul(p, half)"
GELU_OF_HALF = "d = Div(x, root2) e = Erf(d) a = Add(one, e) h = Mul(x, half) y = Mul(h, a)"
BIASED = "z = Add(x, b) d = Div(z, root2) e = Erf(d) a = Add(e, one) h = Mul(half, z) y = Mul(h, a)"
FAST = (
    "c = Pow(x, third) f = Mul(c, k) t = Add(x, f) r = Mul(t, root) u = Tanh(r) a = Add(u, one)"
    " h = Mul(x, half) y = Mul(h, a)"
)
QUICK = "t = Mul(more, x) g = Sigmoid(t) y = Mul(g, x)"
RMS = (
    f"q = Pow(x, two) v = ReduceMean{MEAN}(q) e = Add(v, eps) r = Sqrt(e) d = Div(one, r)"
    " n = Mul(x, d) y = Mul(w, n)"
)
LAYER_NORM = (
    f"u = ReduceMean{MEAN}(x) c = Sub(x, u) q = Pow(c, two) v = ReduceMean{MEAN}(q)"
    " e = Add(v, eps) r = Sqrt(e) d = Div(c, r) n = Mul(d, w) y = Add(n, b)"
)
SCALED = "p = Mul(x, half) t = Transpose<perm=[0,2,1]>(s) f = Mul(t, half) y = MatMul(p, f)"


def model(body: str, out: str = "y", one: float = 1.0, eps: float = 1e-6) -> ExtractedModel:
    return extracted(TEXT.format(body=body, out=out, one=one, eps=eps), opset=17)


def groups(found: ExtractedModel) -> list[ExtractedGroup]:
    chosen = [group for group in found.groups if group.rule == RULE]
    for group in chosen:
        check_group(found, group)
    return chosen


def numbers(group: ExtractedGroup) -> list[float]:
    return sorted(
        round(float(np.frombuffer(tensor.value, "<f4")[0]), 6)
        for tensor in group.layer.tensors
        if tensor.value is not None and tensor.dtype == "float32"
    )


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (GELU, [0.5, 1.0, 1.414214]),
        (GELU_OF_HALF, [0.5, 1.0, 1.414214]),
        (BIASED, [0.5, 1.0, 1.414214]),
        (FAST, [0.044715, 0.5, 0.797885, 1.0, 3.0]),
        (QUICK, [1.702]),
        (RMS, [1e-06, 1.0, 2.0]),
        (LAYER_NORM, [1e-06, 2.0]),
        (SCALED, [0.5]),
        ("z = Add(x, s) " + RMS.replace("(x", "(z"), [1e-06, 1.0, 2.0]),
        ("d = Div(one, x) y = Mul(s, d)", [1.0]),
    ],
)
def test_a_function_is_a_group_with_its_numbers(body: str, kept: list[float]) -> None:
    found = model(body)
    whole = [group for group in groups(found) if len(group.layers) == len(found.layers)]
    assert [numbers(group) for group in whole] == [kept]


def test_a_function_between_others_is_a_group_of_its_own() -> None:
    before = f"m0 = MatMul(s, m) m1 = Add(m0, b) m2 = Relu(m1) {GELU} y2 = Sigmoid(y) y3 = Neg(y2)"
    found = model(before.replace("(x", "(m2"), out="y3")
    assert [group.layers for group in groups(found)] == [(3, 4, 5, 6, 7)]


@pytest.mark.parametrize(
    ("body", "out"),
    [
        (GELU.replace("Erf", "Tanh"), "y"),
        (GELU.replace("half", "two"), "y"),
        (GELU + " z = Neg(a)", "y, z"),  # a result inside is read elsewhere
        ("g = Sigmoid(s) y = Mul(g, x)", "y"),
        (RMS.replace("Div(one, r)", "Div(s, r)"), "y"),
        (RMS + " z = Neg(d)", "y, z"),
        ("t = Transpose<perm=[0,2,1]>(s) y = MatMul(x, t)", "y"),  # nothing scales
        ("d = Div(x, one) y = Mul(s, d)", "y"),
    ],
)
def test_what_looks_like_a_function(body: str, out: str) -> None:
    assert groups(model(body, out)) == []


def test_other_numbers_are_another_group_and_the_same_region() -> None:
    one, other = model(RMS), model(RMS, eps=1e-5)
    assert not {g.fingerprint for g in groups(one)} & {g.fingerprint for g in groups(other)} - {
        g.fingerprint for g in groups(one) if len(g.layers) == 2
    }
    of_regions = [
        {group.fingerprint for group in found.groups if group.rule == regions.RULE}
        for found in (one, other)
    ]
    assert of_regions[0] == of_regions[1] != set()


def test_numbers_that_the_file_lacks_are_not_known() -> None:
    text = TEXT.format(body=QUICK, out="y", one=1.0, eps=1e-6)
    found = extracted(text.replace("more = {1.702}", 'more = ["location": "w"]'), opset=17)
    assert [numbers(group) for group in groups(found)] == []
    assert [group.layers for group in found.groups] == [(0, 1, 2)]
