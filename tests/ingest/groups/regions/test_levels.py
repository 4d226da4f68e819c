"""Levels are counts of heavy layers, and what one later level reads alone is put there."""

from benanza_ingest.groups.regions.levels import Sets, levels
from tests.ingest.groups.test_joining import wired
from tests.ingest.onnx_text import content

HEAD = (
    "g (float[4,4] x, float[4,4] z) => ({out}) <float[4,4] w = [\"location\": \"w\"]> {{ {body} }}"
)  # fmt: skip


def found(body: str, out: str = "y") -> list[int]:
    wiring = wired(content(HEAD.format(body=body, out=out)))
    return levels(wiring, [layer.op == "MatMul" for layer in wiring.layers])


def test_each_heavy_layer_on_the_longest_way_counts() -> None:
    assert found("a = Relu(x) b = MatMul(a, w) c = Neg(b) d = MatMul(c, w) y = Add(d, b)") == [
        0,
        1,
        1,
        2,
        2,
    ]


def test_what_only_a_later_level_reads_is_put_there() -> None:
    body = "a = Relu(z) b = Neg(a) c = Relu(x) d = MatMul(c, w) y = Add(d, b)"
    assert found(body) == [1, 1, 0, 1, 1]


def test_what_a_heavy_layer_reads_stays() -> None:
    body = "a = Relu(z) b = Neg(a) c = MatMul(a, w) y = Add(c, b)"
    assert found(body) == [0, 0, 1, 1]


def test_what_several_levels_read_stays() -> None:
    body = "a = Relu(z) b = MatMul(x, w) c = MatMul(b, w) e = Add(b, a) y = Add(c, a)"
    assert found(body, out="y, e") == [0, 0, 1, 0, 1]


def test_a_chain_is_moved_as_a_whole() -> None:
    body = "a = Relu(z) b = MatMul(x, w) c = MatMul(b, w) e = Add(b, a) y = Add(c, e)"
    assert found(body) == [1, 0, 1, 1, 1]


def test_what_the_model_returns_stays() -> None:
    body = "r = Relu(x) b = MatMul(r, w) a = Relu(z) y = Add(b, a)"
    assert found(body) == [0, 1, 1, 1]
    assert found(body, out="y, a") == [0, 1, 0, 1]


def test_sets_are_named_by_their_first_position() -> None:
    sets = Sets(5)
    assert sets.join(3, 1) == 1
    assert sets.join(3, 4) == 1
    assert [sets.find(at) for at in range(5)] == [0, 1, 2, 1, 1]
