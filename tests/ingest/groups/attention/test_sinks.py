"""Sinks that are written out are part of the attention, and have one form."""

import pytest
from onnx import ModelProto

from benanza_ingest.groups.attention.propose import propose
from benanza_schemas.identity import canonical, fingerprint
from tests.ingest.groups.attention.running import check, wiring_of
from tests.ingest.onnx_text import proto

FIXED = (
    'float s = {0.25}, float[4] sinks = ["location": "w"], float[1,1,7,7] m = ["location": "w"],'
    ' bool[1,1,7,7] seen = ["location": "w"], float[2,4,7,1] each = ["location": "w"],'
    " float[1,4,1,1] apart = {0.5, 1.5, -2.0, 3.0}, float none = {-inf},"
    " int64[4] heads = {1, 4, 1, 1}, int64[4] column = {2, 4, 7, 1}, int64[1] l0 = {0},"
    " int64[1] last = {-1}, int64[5] shares = {2, 2, 2, 7, 8}, int64[4] joined = {2, 4, 7, 8},"
    " int64[1] l2 = {2}"
)
INPUTS = "float[2,4,7,8] q, float[2,{heads},7,8] k, float[2,{heads},7,8] v"
SHARED = (
    "k1 = Unsqueeze(k, l2) k2 = Expand(k1, shares) k0 = Reshape(k2, joined)"
    " v1 = Unsqueeze(v, l2) v2 = Expand(v1, shares) v0 = Reshape(v2, joined)"
)
SCORES = "kt = Transpose<perm=[0,1,3,2]>(k0) a = MatMul(q, kt) {steps}"
REPEATED = "r = Reshape(sinks, heads) e = Expand(r, column)"
JOINED = "j = Concat<axis=-1>(c, e)"
SHIFTED = "most = ReduceMax<keepdims=1>(j, last) d = Sub(j, most) w0 = Softmax(d)"
AT_ONCE = "w0 = Softmax<axis=-1>(j)"
END = "w1 = Slice(w0, l0, last, last) o = MatMul(w1, v0)"
GPT_OSS = " ".join((SHARED, SCORES, REPEATED, JOINED, SHIFTED, END))


def model(
    body: str, steps: str = "b = Mul(a, s) c = Add(b, m)", heads: int = 2, out: str = ""
) -> ModelProto:
    text = body.format(steps=steps)
    return proto(f"g ({INPUTS.format(heads=heads)}) => (o{out}) <{FIXED}> {{ {text} }}", opset=21)


OWN = "k0 = Identity(k) v0 = Identity(v)"


@pytest.mark.parametrize(
    ("body", "steps", "heads"),
    [
        (GPT_OSS, "b = Mul(a, s) c = Add(b, m)", 2),
        (GPT_OSS, "c = Identity(a)", 2),
        (GPT_OSS, "b = Mul(a, s) c = Where(seen, b, none)", 2),
        (GPT_OSS.replace(SHIFTED, AT_ONCE), "c = Mul(a, s)", 2),
        (GPT_OSS.replace(SHARED, OWN), "c = Mul(a, s)", 4),
        (GPT_OSS.replace(REPEATED, "e = Expand(apart, column)"), "c = Mul(a, s)", 2),
    ],
)
def test_they_are_in_the_group(body: str, steps: str, heads: int) -> None:
    found = check(model(body, steps, heads))
    largest = max(found, key=lambda proposal: len(proposal.positions))
    made = [operator.op_type for operator in canonical(largest.form.layer).operators]
    assert made.count("MatMul") == 2
    assert made.count("Softmax") == 1
    assert "ReduceMax" not in made


def test_the_same_function_has_one_fingerprint() -> None:
    bodies = (GPT_OSS, GPT_OSS.replace(SHIFTED, AT_ONCE))
    found = [
        max(propose(wiring_of(model(body))), key=lambda proposal: len(proposal.positions))
        for body in bodies
    ]
    assert len({fingerprint(each.form.layer) for each in found}) == 1


@pytest.mark.parametrize(
    "body",
    [
        GPT_OSS.replace(REPEATED, "e = Identity(each)"),  # each query has some of its own
        GPT_OSS.replace("Slice(w0, l0, last, last)", "Slice(w0, l1, l8, last)"),  # the first column
        GPT_OSS.replace("Concat<axis=-1>(c, e)", "Concat<axis=-1>(e, c)"),
        GPT_OSS.replace("ReduceMax", "ReduceMin"),
    ],
)
def test_what_has_other_columns_is_none(body: str) -> None:
    body = f"l1 = Constant<value_ints=[1]>() l8 = Constant<value_ints=[8]>() {body}"
    assert propose(wiring_of(model(body))) == []


def test_scores_that_others_read_are_none() -> None:
    assert propose(wiring_of(model(GPT_OSS, out=", j"))) == []
