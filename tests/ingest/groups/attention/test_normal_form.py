"""Each form of attention computes what ONNX's operator does, and equal forms have equal layers."""

import pytest

from benanza_ingest.groups.attention.propose import Proposal
from benanza_schemas.identity import canonical, fingerprint
from benanza_schemas.layer import Attribute
from tests.ingest.groups.attention.forms import FORMS, PLAIN, Form, between
from tests.ingest.groups.attention.running import check


def largest(form: Form) -> Proposal:
    return max(check(form.model()), key=lambda proposal: len(proposal.positions))


@pytest.mark.parametrize("name", list(FORMS))
def test_each_form_computes_what_its_layer_does(name: str) -> None:
    form = FORMS[name]
    assert canonical(largest(form).form.layer).title() == form.largest


@pytest.mark.parametrize(
    "names",
    [
        ("scaled after", "scaled after, the number first", "scaled on both"),
        ("divided", "keys scaled before they are transposed"),
        ("by rows", "by rows, keys transposed twice, merged", "by rows, all merged"),
        ("of one product, gathered", "of one product, sliced and squeezed"),
        ("no scale", "views between"),
    ],
)
def test_the_same_function_has_one_fingerprint(names: tuple[str, ...]) -> None:
    found = {fingerprint(largest(FORMS[name]).form.layer) for name in names}
    assert len(found) == 1


def given(form: Form) -> dict[str, object]:
    """What the operator is told that it doesn't take by default."""
    layer = largest(form).form.layer
    (operator,) = (each for each in layer.operators if each.op_type == "Attention")
    return {each.name: each.value for each in operator.attributes if each.value}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("c = Identity(a)", {"scale": 1.0}),
        ("c = Mul(a, s)", {"scale": 0.25}),
        ("b = Mul(a, s) c = Div(b, two)", {"scale": 0.125}),
        ("r = Sqrt(s8) c = Div(a, r)", {}),
    ],
)
def test_the_scale_is_one_number(steps: str, expected: dict[str, object]) -> None:
    assert given(between(f"s8 = Constant<value_float=8.0>() {steps}", "")) == expected


def test_square_roots_that_exporters_round_make_the_default() -> None:
    body = (
        "r = Constant<value_float=0.59460356>() kt = Transpose<perm=[0,1,3,2]>(k) q1 = Mul(q, r)"
        " k1 = Mul(kt, r) c = MatMul(q1, k1) p = Softmax(c) o = MatMul(p, v)"
    )
    assert given(Form(PLAIN, body, "")) == {}


CAUSAL = (
    "n = Constant<value_ints=[7, 7]>() zeros = ConstantOfShape(n) ones = Exp(zeros)"
    " lower = Trilu<upper=0>(ones) is = Cast<to=9>(lower)"
)


@pytest.mark.parametrize(
    "steps",
    [
        "mask = Where(is, zero, none) c = Add(a, mask)",
        "mask = Where(is, zero, low) c = Add(mask, a)",
        "c = Where(is, a, low)",
        "not = Not(is) c = Where(not, none, a)",
        "mask = Where(is, zero, none) b = Add(a, mask) c = Add(b, zeros)",
    ],
)
def test_a_mask_that_is_causal(steps: str) -> None:
    form = between(f"{CAUSAL} {steps}", "")
    assert given(form) == {"scale": 1.0, "is_causal": 1}
    assert not any(name for name in largest(form).names if name not in ("q", "k", "v", "o"))


@pytest.mark.parametrize(
    "steps",
    [
        "up = Trilu<upper=1>(ones) is2 = Cast<to=9>(up) c = Where(is2, a, none)",
        "mask = Where(is, half, none) c = Add(a, mask)",
        "mask = Where(is, zero, two) c = Add(a, mask)",
        "mask = Where(is, zero, low) b = Add(a, mask) c = Add(b, w)",
    ],
)
def test_a_mask_that_is_not_causal(steps: str) -> None:
    assert given(between(f"{CAUSAL} {steps}", "")) == {"scale": 1.0}


def test_the_softmax_has_its_own_type() -> None:
    found = given(FORMS["the softmax in float32"])
    assert found == {"scale": 1.0, "softmax_precision": 1}


def test_how_many_keys_count_is_told_where_that_moves_a_causal_mask() -> None:
    form = FORMS["ONNX's operator, all of whose keys count"]
    body = form.body.replace(", m,", ", ,")
    layer = largest(form._replace(body=body)).form.layer
    (operator,) = (each for each in layer.operators if each.op_type == "Attention")
    assert (operator.version, len(operator.inputs)) == (24, 7)
    everywhere = body.replace("<is_causal=1>", "")
    untold = everywhere.replace(", , , , n", "")
    told, other = (largest(form._replace(body=each)).form.layer for each in (everywhere, untold))
    assert fingerprint(told) == fingerprint(other)


@pytest.mark.parametrize("counts", ["[9, 8]", "[7, 7]"])
def test_keys_that_do_not_count_are_no_attention(counts: str) -> None:
    form = FORMS["ONNX's operator, all of whose keys count"]
    assert not check(form._replace(body=form.body.replace("[9, 9]", counts)).model())


def test_the_operators_default_scale_is_left_out() -> None:
    form = FORMS["ONNX's operator"]
    body = form.body.replace("scale=0.5", "scale=0.3535533845424652")
    layer = largest(form._replace(body=body)).form.layer
    other = largest(form._replace(body=form.body.replace(", scale=0.5", ""))).form.layer
    assert fingerprint(layer) == fingerprint(other)
    (operator,) = (each for each in layer.operators if each.op_type == "Attention")
    assert Attribute("is_causal", 1) in operator.attributes
