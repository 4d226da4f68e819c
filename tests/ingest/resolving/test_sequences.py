"""Sequences are resolved into the tensors that they stand for."""

import pytest

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.resolving.sequences import MAX_PARTS
from tests.ingest.onnx_text import by_name, edges_by_name, extracted, kinds, shapes


def test_split_to_sequence_with_sequence_at_is_a_split() -> None:
    """As the exporter writes `torch.chunk`."""
    model = extracted(
        "g (float[2,6] x) => (z) <int64 i = {0}, int64 j = {1}, int64 n = {3}> {"
        " s = SplitToSequence<axis=1>(x, n) a = SequenceAt(s, i) b = SequenceAt(s, j)"
        " z = Add(a, b) }"
    )
    assert kinds(model) == [("Split", "movement"), ("Add", "compute")]
    assert shapes(model.layers[0]) == [(2, 6), (2,), (2, 3), (2, 3)]
    assert shapes(model.layers[1]) == [(2, 3), (2, 3), (2, 3)]
    assert model.edges == ((0, 1),)


@pytest.mark.parametrize(
    ("split", "axis", "expected"),
    [
        ("<int64 n = {4}>", -1, [(3, 4), (3, 4), (3, 2)]),
        ("<int64[3] n = {1, 7, 2}>", 1, [(3, 1), (3, 7), (3, 2)]),
        ("<int64 n = {2}>", 0, [(2, 10), (1, 10)]),
        ("<int64[1] n = {10}>", 1, [(3, 10)]),
    ],
)
@pytest.mark.parametrize("opset", [11, 13, 21])
def test_the_lengths_of_the_parts(
    split: str, axis: int, expected: list[tuple[int, ...]], opset: int
) -> None:
    reads = " ".join(f"y{i} = SequenceAt(s, i{i})" for i in range(len(expected)))
    constants = ", ".join(f"int64 i{i} = {{{i}}}" for i in range(len(expected)))
    uses = " ".join(f"z{i} = Relu(y{i})" for i in range(len(expected)))
    names = ", ".join(f"z{i}" for i in range(len(expected)))
    model = extracted(
        f"g (float[3,10] x) => ({names}) {split[:-1]}, {constants}> {{"
        f" s = SplitToSequence<axis={axis}>(x, n) {reads} {uses} }}",
        opset,
    )
    relus = [layer for layer in model.layers if layer.op == "Relu"]
    assert [shapes(layer)[0] for layer in relus] == expected
    assert model.layers[0].op == "Split"
    assert len(model.edges) == len(expected)


def test_without_lengths_the_parts_have_length_1_and_may_lose_the_axis() -> None:
    kept = extracted(
        "g (float[3,4] x) => (z) <int64 i = {-1}> {"
        " s = SplitToSequence(x) y = SequenceAt(s, i) z = Relu(y) }"
    )
    assert kinds(kept) == [("Split", "movement"), ("Relu", "compute")]
    assert shapes(kept.layers[1])[0] == (1, 4)
    squeezed = extracted(
        "g (float[3,4] x) => (z) <int64 i = {2}> {"
        " s = SplitToSequence<keepdims=0>(x) y = SequenceAt(s, i) z = Relu(y) }"
    )
    assert kinds(squeezed) == [("Split", "movement"), ("Squeeze", "view"), ("Relu", "compute")]
    assert shapes(squeezed.layers[2])[0] == (4,)


def test_construct_insert_erase_and_length() -> None:
    model = extracted(
        "g (float[2] x) => (z, n) <int64 one = {1}, int64 zero = {0}> {"
        " a = Relu(x) b = Tanh(x) c = Exp(x) e = SequenceEmpty() s = SequenceConstruct(a, b)"
        " t = SequenceInsert(s, c, one) u = SequenceErase(t, zero) v = SequenceInsert(u, a)"
        " first = SequenceAt(u, zero) last = SequenceAt(v, k) l = SequenceLength(v)"
        " k = Sub(l, one) n = Identity(l) z = Add(first, last) w = SequenceInsert(e, a) }"
    )
    assert [layer.op for layer in model.layers] == ["Relu", "Exp", "Add"]
    assert edges_by_name(model) == {("a", "z"), ("c", "z")}


def test_concat_from_sequence_is_a_concat() -> None:
    text = (
        "g (float[2,3] x) => (z) {{ a = Relu(x) b = Tanh(x) s = SequenceConstruct(a, b)"
        " [join] z = ConcatFromSequence<axis={axis}, new_axis={new}>(s) }}"
    )
    joined = extracted(text.format(axis=1, new=0))
    assert [layer.op for layer in joined.layers] == ["Relu", "Tanh", "Concat"]
    assert shapes(joined.layers[2]) == [(2, 3), (2, 3), (2, 6)]
    assert joined.layers[2].name == "join"
    stacked = extracted(text.format(axis=0, new=1))
    assert [layer.op for layer in stacked.layers] == [
        "Relu", "Tanh", "Unsqueeze", "Unsqueeze", "Concat",
    ]  # fmt: skip
    assert shapes(stacked.layers[4])[-1] == (2, 2, 3)


def test_a_sequence_may_go_through_identities() -> None:
    model = extracted(
        "g (float[4] x) => (z) <int64 i = {1}> { s = SplitToSequence(x) t = Identity(s)"
        " y = SequenceAt(t, i) z = Relu(y) }"
    )
    assert kinds(model) == [("Split", "movement"), ("Relu", "compute")]


def unresolved(text: str) -> ExtractedModel:
    model = extracted(text)
    assert "Relu" in {layer.op for layer in model.layers}
    return model


def test_a_position_that_depends_on_data_leaves_the_operator_and_what_it_may_read() -> None:
    """The layers that fill the sequence did vanish, as if they cost nothing."""
    model = unresolved(
        "g (float[4] x, int64 i) => (z) { a = Relu(x) b = Tanh(x) s = SequenceConstruct(a, b)"
        " y = SequenceAt(s, i) z = Exp(a) w = Neg(y) }".replace("=> (z)", "=> (z, w)")
    )
    found = by_name(model)
    assert found["y"].kind == "skipped"
    assert "SequenceAt" in found["y"].reason
    assert found["b"].kind == "compute"
    assert {("a", "y"), ("b", "y")} <= edges_by_name(model)


def test_a_sequence_that_the_model_returns_keeps_its_tensors() -> None:
    model = unresolved("g (float[4] x) => (s) { a = Relu(x) s = SequenceConstruct(a, a) }")
    assert kinds(model) == [("Relu", "compute")]


def test_a_sequence_that_a_skipped_body_reads_keeps_its_tensors() -> None:
    model = unresolved(
        "g (float[4] x, bool c, int64 i) => (y) { a = Relu(x) s = SequenceConstruct(a, a)"
        " y = If (c) <then_branch = t () => (o) { o = SequenceAt(s, i) },"
        " else_branch = e () => (o) { o = Identity(x) }> }"
    )
    assert kinds(model)[::2] == [("Relu", "compute"), ("If", "skipped")]
    assert (0, 1) in model.edges


@pytest.mark.parametrize(
    "text",
    [
        # More parts than can be meant, positions outside, lengths that don't fit.
        "g (float[1000000,2] x) => (z) <int64 i = {0}> { a = Relu(x) s = SplitToSequence(a)"
        " z = SequenceAt(s, i) }",
        "g (float[1099511627776] x) => (z) <int64 i = {0}> { a = Relu(x) s = SplitToSequence(a)"
        " z = SequenceAt(s, i) }",
        "g (float[4] x) => (z) <int64 i = {7}> { a = Relu(x) s = SplitToSequence(a)"
        " z = SequenceAt(s, i) }",
        "g (float[4] x) => (z) <int64 i = {0}, int64[2] n = {9, -5}> { a = Relu(x)"
        " s = SplitToSequence(a, n) z = SequenceAt(s, i) }",
        "g (float[4] x) => (z) <int64 i = {0}, int64[2] n = {1, 1}> { a = Relu(x)"
        " s = SplitToSequence(a, n) z = SequenceAt(s, i) }",
        "g (float[4] x) => (z) <int64 i = {0}, int64 n = {0}> { a = Relu(x)"
        " s = SplitToSequence(a, n) z = SequenceAt(s, i) }",
        "g (float[4] x) => (z) <int64 i = {0}, int64[1,1] n = {4}> { a = Relu(x)"
        " s = SplitToSequence(a, n) z = SequenceAt(s, i) }",
        "g (float[4] x, int64 n) => (z) <int64 i = {0}> { a = Relu(x)"
        " s = SplitToSequence(a, n) z = SequenceAt(s, i) }",
        "g (float[4] x) => (z) <int64 i = {0}> { a = Relu(x) s = SplitToSequence<axis=5>(a)"
        " z = SequenceAt(s, i) }",
    ],
)
def test_what_cannot_be_resolved_is_skipped_by_name(text: str) -> None:
    model = unresolved(text)
    assert model.layers[0].kind == "compute"
    assert {layer.kind for layer in model.layers[1:]} <= {"skipped", "movement"}
    assert "skipped" in {layer.kind for layer in model.layers}


def test_as_many_parts_as_can_be_meant() -> None:
    model = extracted(
        f"g (float[{MAX_PARTS}] x) => (z) <int64 i = {{5}}> {{ s = SplitToSequence(x)"
        " y = SequenceAt(s, i) z = Relu(y) }"
    )
    assert kinds(model) == [("Split", "movement"), ("Relu", "compute")]


def test_a_sequence_of_nothing() -> None:
    model = extracted(
        "g (float[0,3] x, float[2] w) => (n, z) { s = SplitToSequence(x) l = SequenceLength(s)"
        " n = Identity(l) z = Relu(w) }"
    )
    assert kinds(model) == [("Relu", "compute")]


def test_before_opset_11_there_were_no_sequences() -> None:
    model = extracted("g (float[2] x) => (y) { y = SequenceAt() }", 10)
    assert kinds(model) == [("SequenceAt", "skipped")]
