"""What looks like attention and is none is not found, and what is found is what it says."""

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import ModelProto

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.groups.attention.propose import RULE
from tests.examples import examples
from tests.ingest.groups.attention.forms import FORMS, PLAIN, TURNED, Form
from tests.ingest.groups.attention.running import check, wiring_of
from tests.ingest.groups.graph_rules import check_group

BOOLS = "bool[2,1,7,7] m"


def scores(steps: str, inputs: str = PLAIN) -> Form:
    return Form(inputs, f"{TURNED} a = MatMul(q, kt) {steps}", "")


@pytest.mark.parametrize(
    "form",
    [
        scores("p = Softmax<axis=2>(a) o = MatMul(p, v)"),
        scores("t = Transpose<perm=[0,1,3,2]>(a) p = Softmax(t) o = MatMul(p, v)"),
        scores("p0 = Softmax(a) p = Transpose<perm=[0,1,3,2]>(p0) o = MatMul(p, v)"),
        scores("p0 = Softmax(a) p = Transpose<perm=[1,0,2,3]>(p0) o = MatMul(p, v)",
               "float[4,4,7,8] q, float[4,4,7,8] k, float[4,4,7,8] v"),
        scores("c = Mul(a, m) p = Softmax(c) o = MatMul(p, v)", f"{PLAIN}, float[2,1,7,7] m"),
        scores("c = Mul(a, bias) p = Softmax(c) o = MatMul(p, v)"),
        scores("c = Div(s, a) p = Softmax(c) o = MatMul(p, v)"),
        scores("n = Neg(s) c = Mul(a, n) p = Softmax(c) o = MatMul(p, v)"),
        scores("c = Mul(a, a) p = Softmax(c) o = MatMul(p, v)"),
        scores("c = Add(a, a) p = Softmax(c) o = MatMul(p, v)"),
        scores("c = Mul(a, m) p = Softmax(c) o = MatMul(p, v)", f"{PLAIN}, float[1] m"),
        scores("c = Where(m, a, zero) p = Softmax(c) o = MatMul(p, v)", f"{PLAIN}, {BOOLS}"),
        scores("c = Where(m, a, a) p = Softmax(c) o = MatMul(p, v)", f"{PLAIN}, {BOOLS}"),
        scores("c = Where(m, bias, a) p = Softmax(c) o = MatMul(p, v)", f"{PLAIN}, {BOOLS}"),
        scores("c = Sub(a, bias) p = Softmax(c) o = MatMul(p, v)"),
        scores("b = Add(a, bias) c = Tanh(b) p = Softmax(c) o = MatMul(p, v)"),
        scores("b = Tanh(a) c = Tanh(b) p = Softmax(c) o = MatMul(p, v)"),
        scores("c = Sin(a) p = Softmax(c) o = MatMul(p, v)"),
        scores("c = Softmax(a) p = Softmax(c) o = MatMul(p, v)"),
        scores("p = LogSoftmax(a) o = MatMul(p, v)"),
        scores("p = Softmax(a) o = MatMul(v2, p)", f"{PLAIN}, float[2,4,5,7] v2"),
        scores("p = Softmax(a) w2 = Mul(p, s) o = MatMul(w2, v)"),
        scores("p0 = Softmax(a) yes = Cast<to=9>(s) p = Dropout(p0, s, yes) o = MatMul(p, v)"),
        scores("p0 = Softmax(a) n = IsNaN(p0) p = Where(n, two, p0) o = MatMul(p, v)"),
        scores("p0 = Softmax(a) n = IsNaN(p0) p = Where(n, p0, zero) o = MatMul(p, v)"),
        scores("p0 = Softmax(a) n = IsNaN(a) p = Where(n, zero, p0) o = MatMul(p, v)"),
        scores("p = Softmax(a) o0 = MatMul(p, v) o = Concat<axis=3>(o0, a)"),
        scores("p = Softmax(a) o0 = MatMul(p, v) o = Concat<axis=3>(o0, p)"),
        scores("c = Add(a, m) p = Softmax(c) o = MatMul(p, v)", f"{PLAIN}, float[3,2,4,7,7] m"),
        scores("p = Softmax(a) o = MatMul(p, v3)", f"{PLAIN}, float[3,2,4,7,8] v3"),
        scores("n4 = Constant<value_ints=[2, 7, 4, 7]>() c = Reshape(a, n4) p = Softmax(c)"
               " o = MatMul(p, v4)", f"{PLAIN}, float[2,7,7,8] v4"),
        Form("float[2,7,4,8] q, float[2,7,4,8] k, float[2,7,4,8] v",
             'c = Einsum<equation="bqhd,bkhd->bhqk">(q, k) p = Softmax(c)'
             ' o = Einsum<equation="bhqk,bqhd->bkhd">(p, v)', ""),
        Form("float[2,7,4,8] q, float[2,7,4,8] k, float[2,7,4,8] v",
             'c = Einsum<equation="bqhd,bkhe->bhqk">(q, k) p = Softmax(c)'
             ' o = Einsum<equation="bhqk,bkhd->bqhd">(p, v)', ""),
    ],
)  # fmt: skip
def test_what_looks_like_attention_and_is_none(form: Form) -> None:
    assert check(form.model()) == []


def test_what_is_read_elsewhere_stays_outside() -> None:
    for name in ("q", "kt", "v", "y4"):
        form = FORMS["by rows"]
        proposals = check(form.model(f", {name}"))
        writer = next(
            at
            for at, node in enumerate(wiring_of(form.model(f", {name}")).graph.nodes)
            if name in node.outputs
        )
        assert proposals
        assert all(writer not in proposal.positions for proposal in proposals)


@pytest.mark.parametrize("name", ["a", "c", "p"])
def test_scores_that_the_model_returns_are_written(name: str) -> None:
    assert check(FORMS["with a mask"].model(f", {name}")) == []


SQUARES = {
    "by rows": (
        "float[4,4,4,4] x, float[4,4,4,4] y, float[4,4,4,4] z, float[4,4,4,4] m",
        "q = Transpose<perm=[0,2,1,3]>(x) kt = Transpose<perm=[0,2,3,1]>(y)"
        " v = Transpose<perm=[0,2,1,3]>(z) q1 = Mul(q, s) a = MatMul(q1, kt) b = Add(a, m)"
        " p0 = Softmax<axis=3>(b) n = IsNaN(p0) p = Where(n, zero, p0) o4 = MatMul(p, v)"
        " o = Transpose<perm=[0,2,1,3]>(o4)",
    ),
    "of one value": (
        "float[4,4,4,4,4] x, bool[4,4,4,4] m",
        "t = Transpose<perm=[2,0,3,1,4]>(x) q = Gather<axis=0>(t, i0) k = Gather<axis=0>(t, i1)"
        " v = Gather<axis=0>(t, i2) kt = Transpose<perm=[0,1,3,2]>(k) k1 = Div(kt, two)"
        " a = MatMul(q, k1) b = Where(m, a, none) p = Softmax<axis=3>(b) o4 = MatMul(p, v)"
        " o = Transpose<perm=[0,2,1,3]>(o4)",
    ),
    "merged": (
        "float[4,4,4,4] x, float[4,4,4,4] y",
        "x1 = Relu(x) q = Transpose<perm=[0,2,1,3]>(x1) y1 = Relu(y)"
        " k = Transpose<perm=[0,2,1,3]>(y1) many = Constant<value_ints=[16, 4, 4]>()"
        " few = Constant<value_ints=[4, 4, 4, 4]>() q3 = Reshape(q, many) k3 = Reshape(k, many)"
        " kt = Transpose<perm=[0,2,1]>(k3) a = MatMul(q3, kt) p = Softmax<axis=2>(a)"
        " o3 = MatMul(p, k3) o4 = Reshape(o3, few) o = Transpose<perm=[0,2,1,3]>(o4)",
    ),
    "values first": (
        "float[4,4,4,4] q, float[4,4,4,4] k, float[4,4,4,4] v, float[4,4,4] m",
        "qt = Transpose<perm=[0,1,3,2]>(q) a = MatMul(qt, k) b = Add(m, a) c = Mul(half, b)"
        " p = Softmax<axis=3>(c) pt = Transpose<perm=[0,1,3,2]>(p) o = MatMul(v, pt)",
    ),
    "as Einsum": (
        "float[4,4,4,4] q, float[4,4,4,4] k, float[4,4,4,4] v, float[4,1,1,4] m",
        'a = Einsum<equation="bqhd,bkhd->bhqk">(q, k) b = Mul(a, s) c = Add(b, m)'
        ' p = Softmax<axis=3>(c) o = Einsum<equation="bhqk,bkhd->bqhd">(p, v)',
    ),
}
"""All axes have the same size, so that they may be taken one for another."""

OTHERS = {"Mul": "Add", "Add": "Mul", "Div": "Mul", "Softmax": "LogSoftmax"}


def change(model: ModelProto, data: st.DataObject) -> None:
    """Makes one small change, after which the model may not be valid."""

    def number(below: int) -> int:
        return data.draw(st.integers(0, below - 1))

    node = model.graph.node[number(len(model.graph.node))]
    match number(4):
        case 0 if node.op_type in ("MatMul", "Add", "Mul", "Div", "Where", "Einsum"):
            node.input[-2], node.input[-1] = node.input[-1], node.input[-2]
        case 1:
            node.op_type = OTHERS.get(node.op_type, node.op_type)
        case 2:
            if node.output[0] not in [value.name for value in model.graph.output]:
                model.graph.output.append(onnx.ValueInfoProto(name=node.output[0]))
        case _:
            for attribute in node.attribute:
                if attribute.name == "perm":
                    order = data.draw(st.permutations(attribute.ints))
                    attribute.ints[:] = order
                elif attribute.name == "axis":
                    attribute.i = number(3)
                elif attribute.name == "equation":
                    letters = list(attribute.s.decode())
                    one, other = number(len(letters)), number(len(letters))
                    letters[one], letters[other] = letters[other], letters[one]
                    attribute.s = "".join(letters).encode()


@given(st.sampled_from(list(SQUARES)), st.data())
@examples(times=2)
def test_whatever_is_changed_groups_compute_what_the_model_does(
    name: str, data: st.DataObject
) -> None:
    inputs, body = SQUARES[name]
    model = Form(inputs, body, "").model()
    for _ in range(data.draw(st.integers(0, 3))):
        change(model, data)
    try:
        found = extract(model.SerializeToString())
    except ModelError:
        return
    for group in found.groups:
        if group.rule == RULE:
            check_group(found, group)
    check(model)


@pytest.mark.parametrize("name", list(SQUARES))
def test_without_a_change_these_are_attention(name: str) -> None:
    inputs, body = SQUARES[name]
    found = extract(Form(inputs, body, "").model().SerializeToString())
    assert [group.rule for group in found.groups].count(RULE) > 0
