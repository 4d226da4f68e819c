"""Equal layers are a group that runs as one of them; what changes nothing joins what it reads."""

from random import Random

import numpy as np
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.simplified import propose
from benanza_runner.onnxruntime.session import CPU
from tests.examples import examples
from tests.ingest.groups.graph_rules import check_group, is_acyclic_with, is_of_simplified
from tests.ingest.groups.simplified.graphs import NUMBERS, SIZE, Pair, pairs
from tests.ingest.onnx_text import extracted
from tests.ingest.test_program import Values, as_program, run

HEAD = (
    "g (float[1,4,8,6] x, float[1,4,8,6] z, float16[1,4,8,6] h) => ({out}) <float one = {{1.0}},"
    " float nought = {{0.0}}, float half = {{0.5}}, float also_half = {{0.5}},"
    " float[4,4,1,1] w = {sixteen}, float[4,1,1] k = {{1,2,3,4}}, float[4,1,1] l = {{1,2,3,4}},"
    " int64[2] flat = {{4, 48}}, int64[2] again = {{4, 48}}>"
    " {{ {body} }}"
)
SIXTEEN = "{" + ", ".join(["0.1"] * 16) + "}"
TURN, BACK = "Transpose<perm=[0,2,3,1]>", "Transpose<perm=[0,3,1,2]>"


def ingested(body: str, out: str = "y") -> ExtractedModel:
    model = extracted(HEAD.format(body=body, out=out, sixteen=SIXTEEN))
    for group in model.groups:
        check_group(model, group)
    return model


def alone(body: str, out: str = "y") -> list[tuple[str, tuple[int, ...]]]:
    """The groups that run as a layer does, with its operator."""
    model = ingested(body, out)
    layers = {each.fingerprint: each for each in model.layers}
    found = [group for group in model.groups if group.rule == "once"]
    for group in found:
        layer = layers[group.fingerprint]
        assert (group.layer, group.flops, group.bytes) == (layer.layer, layer.flops, layer.bytes)
    return [(group.layer.title(), group.layers) for group in found]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("a = Relu(x) b = Relu(x) c = Relu(x) y = Sum(a, b, c)", [("Relu", (0, 1, 2))]),
        ("a = Mul(x, half) b = Mul(x, also_half) y = Add(a, b)", [("Mul", (0, 1))]),
        ("a = Mul(x, k) b = Mul(x, l) y = Add(a, b)", [("Mul", (0, 1))]),
        (
            "a = Relu(x) b = Relu(x) c = Abs(b) d = Abs(a) y = Add(c, d)",
            [("Relu", (0, 1)), ("Abs", (2, 3))],
        ),
        (
            "a = Reshape(x, flat) b = Reshape(x, again) c = Transpose(a) d = Transpose(b)"
            " y = Add(c, d)",
            [("Transpose", (2, 3))],
        ),
        ("a = Clip(x, half, one) b = Clip(x, half, one) y = Add(a, b)", [("Clip", (0, 1))]),
    ],
)  # fmt: skip
def test_equal_layers_run_as_one(body: str, found: list[tuple[str, tuple[int, ...]]]) -> None:
    assert alone(body) == found


@pytest.mark.parametrize(
    "body",
    [
        "a = Sub(x, z) b = Sub(z, x) y = Mul(a, b)",
        "a = Mul(x, half) b = Mul(x, one) y = Add(a, b)",
        "a = Elu(x) b = Elu<alpha=2.0>(x) y = Mul(a, b)",
        "a = RandomNormalLike(x) b = RandomNormalLike(x) y = Mul(a, b)",
        f"a = {TURN}(x) b = {TURN}(z) c = Add(a, b) y = Relu(c)",
    ],
)
def test_what_is_not_equal_runs_apart(body: str) -> None:
    groups = [group.layers for group in ingested(body).groups if is_of_simplified(group)]
    assert (0, 1) not in groups


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"a = Conv(x, w) t = {TURN}(a) u = {BACK}(t) y = Relu(u)", ("Conv", (0, 1, 2))),
        (f"t = {TURN}(x) u = {BACK}(t) y = Conv(u, w)", ("Conv", (0, 1, 2))),
        (f"t = {TURN}(x) u = {BACK}(t) a = Conv(u, w) y = Add(u, a)", ("Conv", (0, 1, 2))),
        ("a = Abs(x) b = Mul(a, one) c = Add(nought, b) d = Sub(c, nought) e = Div(d, one)"
         " y = Conv(e, w)", ("Abs", (0, 1, 2, 3, 4))),
        ("a = Abs(h) b = Cast<to=1>(a) c = Cast<to=10>(b) y = Neg(c)", ("Abs", (0, 1, 2))),
        (f"a = Abs(x) t = {TURN}(a) s = Transpose(t) r = Transpose(s) u = {BACK}(r) y = Neg(u)",
         ("Abs", (0, 1, 2, 3, 4))),
        (f"a = Abs(x) t = {TURN}(a) i = Identity(t) u = {BACK}(i) y = Neg(u)",
         ("Abs", (0, 1, 2, 3))),
    ],
)  # fmt: skip
def test_what_changes_nothing_joins_what_it_reads_or_its_reader(
    body: str, found: tuple[str, tuple[int, ...]]
) -> None:
    assert found in alone(body)


def test_what_is_undone_stays_with_what_it_undoes_where_that_is_read() -> None:
    body = f"a = Conv(x, w) t = {TURN}(a) u = {BACK}(t) y = Conv(u, w) s = Softmax(t)"
    assert alone(body, "y, s") == [("Transpose", (1, 2))]


@pytest.mark.parametrize(
    "body",
    [
        "a = Abs(x) b = Cast<to=10>(a) c = Cast<to=1>(b) y = Neg(c)",  # it rounds
        "a = Abs(x) b = Sub(nought, a) c = Div(one, b) y = Neg(c)",
        f"a = Abs(x) t = {TURN}(a) u = {TURN}(t) y = Neg(u)",
        f"t = {TURN}(x) y = {BACK}(t)",  # the input itself, which has to be written
    ],
)
def test_what_changes_something_is_a_layer(body: str) -> None:
    assert alone(body) == []


def test_groups_are_found_as_if_equal_layers_were_one() -> None:
    """Copies of a whole chain are as one chain, which reads and writes once."""
    one = "a = Add(x, k) b = Tanh(a) c = Sub(b, k)"
    again = "d = Add(x, l) e = Tanh(d) f = Sub(e, l)"
    (region,) = (
        group for group in ingested(f"{one} {again}", "c, f").groups if group.rule == "once region"
    )
    assert region.layers == (0, 1, 2, 3, 4, 5)
    alone_model = ingested(one, "c")
    assert region.fingerprint in {group.fingerprint for group in alone_model.groups}


@pytest.mark.parametrize("most", [64, 1])
def test_many_copies_are_one_group(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs as a layer comes first; of the others there may be too many."""
    monkeypatch.setattr(propose, "MOST_COPIES", most)
    count = 100
    copies = " ".join(f"a{n} = Tanh(x) b{n} = Add(a{n}, z) c{n} = Abs(b{n})" for n in range(count))
    sums = ", ".join(f"c{n}" for n in range(count))
    model = ingested(f"{copies} y = Sum({sums})")
    found = [group.layers for group in model.groups if is_of_simplified(group)]
    assert found[0] == tuple(range(0, 3 * count, 3))
    assert sum(map(len, found)) <= most * len(model.layers)
    assert (len(found) > 3) == (most > 1)


@given(pairs(), st.randoms(use_true_random=False))
@examples(times=0.5)
def test_they_compute_what_the_model_does(pair: Pair, random: Random) -> None:
    """Whichever of them are taken together, as long as none need each other in a circle."""
    model = extract(pair.messy)
    blocks: dict[tuple[int, ...], str] = {}
    groups = [group for group in model.groups if is_of_simplified(group)]
    for group in random.sample(groups, len(groups)):
        is_free = all(set(group.layers).isdisjoint(block) for block in blocks)
        if is_free and is_acyclic_with(model, [*blocks, group.layers]):
            blocks[group.layers] = group.fingerprint
    taken = {position for block in blocks for position in block}
    blocks |= {
        (position,): layer.fingerprint
        for position, layer in enumerate(model.layers)
        if layer.kind != "view" and position not in taken
    }
    made = as_program(pair.messy, blocks)
    draw = np.random.default_rng(0).standard_normal
    values: Values = {name: draw((SIZE,) * 3).astype(np.float32) for name in ("x", "z")}
    session = ort.InferenceSession(pair.messy, providers=[CPU.name])
    expected = session.run(None, dict(values))
    values |= {name: np.array(number, np.float32) for name, number in NUMBERS.items()}
    for step in made.steps:
        values |= run(step, values)
    for name, found in zip(made.outputs, expected, strict=True):
        np.testing.assert_allclose(values[name], found, rtol=1e-4, atol=1e-5)
