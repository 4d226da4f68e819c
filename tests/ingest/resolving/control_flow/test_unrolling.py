"""Loops and Scans are written out as often as they run."""

from itertools import pairwise

import numpy as np
import onnxruntime
import pytest

from benanza_ingest.extract import extract, extract_with_summary
from benanza_ingest.limits import Limits
from benanza_ingest.resolving.control_flow import unrolling
from tests.ingest.onnx_text import content, extracted, kinds, shapes

CONSTANTS = "int64 three = {3}, int64 none = {0}, bool yes = {1}, bool no = {0}"
RELU = ("Relu", "compute")


def loop(most: str, going: str = '""', end: str = "on = Identity(go)", inputs: str = "") -> str:
    return (
        f"g (float[2,3] x{inputs}) => (y, z) {{ y, z = Loop ({most}, {going}, x) <body = b"
        f" (int64 i, bool go, float[2,3] v) => (bool on, float[2,3] u, float[2,3] w) {{ {end}"
        " u = Relu(v) w = Neg(u) }> }"
    ).replace(
        "{ y, z", "<int64 three = {3}, int64 none = {0}, bool yes = {1}, bool no = {0}> { y, z"
    )


def test_a_loop_is_its_body_as_often_as_it_runs() -> None:
    model = extracted(loop("three"))
    step = [RELU, ("Neg", "compute")]
    assert kinds(model)[:6] == step * 3
    assert kinds(model)[6:] == [*[("Unsqueeze", "view")] * 3, ("Concat", "movement")]
    assert shapes(model.layers[-1])[-1] == (3, 2, 3)
    assert len({layer.fingerprint for layer in model.layers}) == 4
    assert len({layer.name for layer in model.layers}) == len(model.layers)
    assert {(0, 2), (2, 4)} <= set(model.edges)
    assert model.layers[-1].name == "z"


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (loop("three", "yes"), 3),
        (loop("three", "no"), 0),
        (loop("none"), 0),
        (loop('""', "yes", "t = Constant<value_int = 4>() on = Less(i, t)"), 5),
        (loop("three", '""', "t = Constant<value_int = 0>() on = Less(i, t)"), 1),
        (loop("three", '""', "on = Constant<value = bool {0}>()"), 1),
    ],
)
def test_a_loop_ends_by_its_number_or_its_condition(text: str, steps: int) -> None:
    model = extracted(text)
    assert kinds(model).count(RELU) == steps
    assert "skipped" not in {layer.kind for layer in model.layers}


def test_a_loop_without_a_step_gives_results_without_elements() -> None:
    text = loop("none").replace("=> (y, z)", "=> (y, n)").replace("}> }", "}> n = Exp(z) }")
    assert extracted(text).layers == ()
    joined = text.replace("Exp(z)", "Concat<axis=1>(z, e)").replace(
        "x) =>", "x, float[0,1,3] e) =>"
    )
    (after,) = extracted(joined).layers
    assert shapes(after)[-1] == (0, 3, 3)


@pytest.mark.parametrize(
    "weights",
    [
        "<float[3,3] k = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {",
        "{ k = Constant<value = float[3,3] {1, 2, 3, 4, 5, 6, 7, 8, 9}>()",
    ],
)
def test_weights_of_a_body_are_shared_by_its_steps(weights: str) -> None:
    text = loop("three").replace("{ on =", f"{weights} on =").replace("Relu(v)", "MatMul(v, k)")
    found = extract_with_summary(content(text), batch=None, dims={}, limits=Limits())
    products = [layer for layer in found.model.layers if layer.op == "MatMul"]
    assert [layer.parameters for layer in products] == [9] * 3
    assert len({layer.fingerprint for layer in products}) == 1
    assert found.parameters == 9


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (loop("n", inputs=", int64 n"), "give --value n=VALUE"),
        (loop("three", "c", inputs=", bool c"), "give --value c=VALUE"),
        (loop("three", end="on = Greater(i, n)", inputs=", int64 n"), "give --value n=VALUE"),
        (
            loop("three", end="r = Sigmoid(v) s = ReduceSum<keepdims=0>(r) on = Cast<to=9>(s)"),
            "how often it runs depends on data: export the model with a fixed number of steps",
        ),
    ],
)  # fmt: skip
def test_a_loop_whose_steps_are_not_known_is_skipped(text: str, why: str) -> None:
    last = extracted(text).layers[-1]
    assert (last.op, last.kind) == ("Loop", "skipped")
    hidden = 5 if "ReduceSum" in text else 3
    assert last.reason == f"Loop: its body isn't counted (nodes: {hidden}); {why}"


@pytest.mark.parametrize("most", [10, 9_223_372_036_854_775_807])
def test_more_steps_than_the_limit_of_nodes_allows_are_skipped_with_their_number(most: int) -> None:
    text = loop("three").replace("{3}", f"{{{most}}}")
    (only,) = extract(content(text), limits=Limits(nodes=25)).layers
    assert only.kind == "skipped"
    assert "(nodes: 3); its steps, written out, are more than ingest takes on" in only.reason
    assert "raise BENANZA_MAX_NODES" in only.reason


def test_a_loop_that_only_its_condition_ends_ends_at_the_limit() -> None:
    text = loop('""', "yes", "t = Constant<value_int = 1000000>() on = Less(i, t)")
    (only,) = extract(content(text), limits=Limits(nodes=100)).layers
    assert "more than ingest takes on" in only.reason
    nothing = (
        "g (float[2] x) => (y) <bool yes = {1}> { y = Loop (, yes, x) <body = b"
        " (int64 i, bool go, float[2] v) => (go, v) {}> }"
    )
    assert "more than ingest takes on" in extracted(nothing).layers[0].reason


def test_the_number_of_steps_may_be_computed() -> None:
    """As the body of ONNX's function Range has it."""
    steps = "d = Div(n, two) r = Relu(d) m = Cast<to = 7>(r) y, z = Loop (m"
    text = loop("n").replace("y, z = Loop (n", steps).replace("int64 none", "float two = {2}, none")
    text = text.replace("none = {0}", "float n = {7}")
    assert kinds(extracted(text)).count(RELU) == 3


def test_a_constant_is_taken_apart_too() -> None:
    text = scan(read="float[3] w").replace(
        "{ y, z",
        "<float[3,5] k = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5}> { x = Transpose(k) y, z",
    )
    assert kinds(extracted(text)).count(("Add", "compute")) == 5


def test_steps_that_add_more_values_than_sequences_may_hold_are_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unrolling, "MOST_PARTS", 20)
    (only,) = extracted(loop("three").replace("{3}", "{10000}")).layers
    assert "its steps read or add more than 16,384 values: export the model with" in only.reason
    text = scan(read="float[5000,3] x")
    assert "more than 16,384 values" in extracted(text).layers[0].reason


def test_loops_in_loops_are_written_out_too() -> None:
    inner = (
        "u = Loop (i, , v) <body = bb (int64 j, bool on2, float[2,3] p) =>"
        " (on2, float[2,3] q) { q = Relu(p) }>"
    )
    model = extracted(loop("three").replace("u = Relu(v)", inner))
    assert kinds(model).count(RELU) == 0 + 1 + 2


def test_loops_that_lie_deep_in_each_other() -> None:
    """A message of protobuf can't be nested much deeper."""
    body = "w = Relu(x)"
    for at in range(30):
        inputs = f"(int64 i{at}, bool g{at}, float[2] v{at})"
        result = f"w{at - 1}" if at else "w"
        body = f"w{at} = Loop (one, , x) <body = b {inputs} => (g{at}, {result}) {{ {body} }}>"
    model = extracted(f"g (float[2] x) => (w29) <int64 one = {{1}}> {{ {body} }}")
    assert kinds(model) == [RELU]


def test_bodies_that_use_the_same_names_are_kept_apart() -> None:
    """Exporters write the same names in bodies that lie in each other."""
    inner = (
        "u = Loop (three, , v) <body = b (int64 i, bool go, float[2,3] v) =>"
        " (go, float[2,3] w) { w = Exp(v) }>"
    )
    model = extracted(loop("three").replace("u = Relu(v)", inner))
    assert kinds(model).count(("Exp", "compute")) == 9


def scan(attributes: str = "", read: str = "float[5,3] x") -> str:
    return (
        f"g ({read}, float[3] h) => (y, z) {{ y, z = Scan (h, x) <num_scan_inputs = 1,"
        f" {attributes} body = b (float[3] s, float[3] v) => (float[3] t, float[3] u)"
        " { t = Add(s, v) u = Relu(t) }> }"
    )


def test_a_scan_is_its_body_once_for_each_part() -> None:
    model = extracted(scan())
    assert kinds(model).count(("Add", "compute")) == 5
    assert shapes(model.layers[-1])[-1] == (5, 3)
    adds = [at for at, layer in enumerate(model.layers) if layer.op == "Add"]
    assert {(a, b) for a, b in model.edges if a in adds and b in adds} == {
        (a, b) for a, b in pairwise(adds)
    }


def test_a_scan_reads_and_writes_its_parts_where_they_lie() -> None:
    """Nothing but its steps moves a byte; what a Split outside of it moves still counts."""
    text = """g (float[5,3] x, float[3] h) => (y, z, a, b) <int64[2] l = {2, 3}> {
        a, b = Split <axis = 0> (x, l)
        y, z = Scan (h, x) <num_scan_inputs = 1, body = s (float[3] s, float[3] v) =>
            (float[3] t, float[3] u) { t = Add(s, v) u = Relu(t) }> }"""
    found = kinds(extracted(text))
    assert {("Split", "view"), ("Concat", "view")} <= set(found)
    assert [op for op, kind in found if kind == "movement"] == ["Split"]


@pytest.mark.parametrize("axes", [(0, 0), (1, 1), (-1, -1), (-2, -2), (1, 0)])
def test_a_scan_takes_apart_and_joins_along_the_axes_that_it_names(axes: tuple[int, int]) -> None:
    taken, joined = axes
    read = "float[5,3] x" if taken in (0, -2) else "float[3,5] x"
    text = scan(f"scan_input_axes = [{taken}], scan_output_axes = [{joined}],", read)
    session = onnxruntime.InferenceSession(content(text))
    shape = [3, 5] if "[3,5]" in read else [5, 3]
    feeds = {"x": np.ones(shape, np.float32), "h": np.ones(3, np.float32)}
    found = extracted(text).layers[-1]
    assert found.op == "Concat"
    assert shapes(found)[-1] == session.run(["z"], feeds)[0].shape


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (scan(read="float[N,3] w, float[t,3] x"), "give --dim t=N"),
        (scan(read="float[0,3] x"), "is empty, or of several lengths"),
        (scan().replace("=> (y, z)", "=> (y)").replace("{ y, z =", "{ y ="), "doesn't fit"),
    ],
)
def test_a_scan_whose_steps_are_not_known_is_skipped(text: str, why: str) -> None:
    reason = next(layer.reason for layer in extracted(text).layers if layer.op == "Scan")
    assert reason.startswith("Scan: its body isn't counted (nodes: 2); ")
    assert why in reason
