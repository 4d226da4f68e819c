"""Where it isn't known which branch of an If runs, the cheaper one counts."""

import pytest

from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from tests.ingest.onnx_text import content, edges_by_name, extracted, kinds, shapes

SKIPPED = ("If", "skipped")
EXP = ("Exp", "compute")


def choice(then: str, otherwise: str, before: str = "") -> str:
    """A model whose If is decided by a sum over data."""
    return (
        f"g (float[99] d, float[8,8] x) => (z) {{ s = ReduceSum<keepdims=0>(d) c = Cast<to=9>(s)"
        f" {before} y = If (c) <then_branch = t () => (a) {{ {then} }},"
        f" else_branch = e () => (b) {{ {otherwise} }}> z = Exp(y) }}"
    )


@pytest.mark.parametrize(
    ("cheaper", "dearer"),
    [
        ("O = Relu(x)", "O = MatMul(x, x)"),
        ("O = Identity(x)", "O = Relu(x)"),
        ("O = Transpose<perm=[0,1]>(x)", "O = Transpose<perm=[1,0]>(x)"),
        # Equal FLOPs, and fewer bytes.
        ("O = Add(x, x)", "p = Transpose(x) O = Add(p, x)"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_the_cheaper_branch_counts(cheaper: str, dearer: str, first: bool) -> None:
    then, otherwise = (cheaper, dearer) if first else (dearer, cheaper)
    found = extracted(choice(then.replace("O", "a"), otherwise.replace("O", "b")))
    wanted = extracted(f"g (float[8,8] x) => (z) {{ {cheaper} z = Exp(O) }}")
    assert kinds(found)[2:] == [*kinds(wanted)[:-1], SKIPPED, EXP]
    assert found.layers[-1].fingerprint == wanted.layers[-1].fingerprint
    assert "the cheaper branch counts" in found.layers[-2].reason


def test_an_empty_branch_is_the_cheaper_one() -> None:
    text = choice("", "b = Identity(x)").replace("=> (a)", "=> (x)")
    assert kinds(extracted(text))[2:] == [SKIPPED, EXP]


def test_what_depends_on_the_if_depends_on_the_branch() -> None:
    model = extracted(choice("a = Relu(x)", "b = MatMul(x, x)"))
    relu, skipped = model.layers[-3:-1]
    assert {(relu.name, skipped.name), (skipped.name, "z")} <= edges_by_name(model)


def test_results_of_different_shapes_are_unknown_where_they_differ() -> None:
    model = extracted(choice("a = Relu(x)", "b = Concat<axis=0>(x, x)"))
    after = model.layers[-1]
    assert after.reason.startswith("Exp: 'y' has shape [?, 8]; its condition depends on data")
    ranks = extracted(choice("a = ReduceSum<keepdims=0>(x)", "b = MatMul(x, x)")).layers[-1]
    assert ranks.reason.startswith("Exp: 'y' has unknown rank")
    types = extracted(choice("a = Cast<to=10>(x)", "b = MatMul(x, x)")).layers[-1]
    assert types.reason.startswith("Exp: 'y' is no tensor, or its type isn't known")


def test_a_branch_that_cannot_run_on_such_inputs_is_not_chosen() -> None:
    model = extracted(choice("a = MatMul(x, d)", "q = MatMul(x, x) b = MatMul(q, q)"))
    assert kinds(model)[2:] == [*[("MatMul", "compute")] * 2, SKIPPED, EXP]
    assert shapes(model.layers[-1])[0] == (8, 8)


def test_a_branch_with_a_tensor_beyond_the_limits_is_not_chosen() -> None:
    text = choice("a = Relu(x)", "b = Exp(x)").replace(
        "{ a = Relu(x) }", "<int64[2] n = {99, 99}> { l = Expand(s, n) a = ReduceSum(l) }"
    )
    found = extract(content(text), limits=Limits(tensor_elements=1000))
    assert kinds(found)[2:] == [EXP, SKIPPED, EXP]


def test_branches_in_branches_are_chosen_too() -> None:
    inner = (
        "a = If (c) <then_branch = tt () => (k) { k = MatMul(x, x) },"
        " else_branch = ee () => (l) { l = Abs(x) }>"
    )
    model = extracted(choice(inner, "b = MatMul(x, x)"))
    assert kinds(model)[2:] == [("Abs", "compute"), SKIPPED, SKIPPED, EXP]
    assert "(nodes: 1)" in model.layers[-2].reason
    other = extracted(choice("a = Abs(x)", inner.replace("a = If", "b = If")))
    assert "(nodes: 3)" in other.layers[-2].reason


def test_branches_beyond_the_limit_of_nodes_are_left_out() -> None:
    """Loops may have taken what was left."""
    text = (
        "g (float[8,8] x, float[99] d) => (z) <int64 n = {9}> { w = Loop (n, , x) <body = l"
        " (int64 i, bool go, float[8,8] v) => (go, float[8,8] u) { u = Relu(v) }>"
        " s = ReduceSum<keepdims=0>(d) c = Cast<to=9>(s) y = If (c) <"
        " then_branch = t () => (a) { a = Abs(w) }, else_branch = e () => (b) { b = Neg(w) }>"
        " z = Exp(y) }"
    )
    at = [extract(content(text), limits=Limits(nodes=most)) for most in (16, 15)]
    assert [layer.op for layer in at[0].layers[-3:]] == ["Abs", "If", "Exp"]
    assert [layer.op for layer in at[1].layers[-3:]] == ["Cast", "If", "Exp"]
    assert at[1].layers[-2].reason.startswith("If: its body isn't counted (nodes: 2); ")
