"""States are kept in place: what is new is written, and nothing that was kept is moved."""

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto

from benanza_ingest.extract import extract, extract_with_summary
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.limits import Limits
from benanza_ingest.states import find as states
from benanza_schemas.vocabulary import COPIED_STATE, STATE_AS_WRITTEN
from tests.ingest import onnx_text
from tests.ingest.onnx_text import of_operator

KEPT, NEW = 2 * 4 * 100 * 16 * 4, 2 * 4 * 1 * 16 * 4
"""Bytes of a state of 100 places, and of one place."""


DOMAINS = {"com.microsoft": 1}


def model(graph: str) -> ModelProto:
    return onnx_text.proto(f"g {graph}", 24, DOMAINS)


def extracted(graph: str) -> ExtractedModel:
    return onnx_text.extracted(f"g {graph}", 24, DOMAINS)


def copying(found: ExtractedModel) -> list[tuple[int, str]]:
    """The positions of states that are in place, and what would copy each."""
    groups = [group for group in found.groups if group.rule == STATE_AS_WRITTEN]
    return [(group.layers[0], group.layer.title()) for group in groups]


def why_copied(found: ExtractedModel) -> list[str]:
    return [
        layer.reason.removeprefix(COPIED_STATE)
        for layer in found.layers
        if layer.reason.startswith(COPIED_STATE)
    ]


APPENDED = """(float[2,4,100,16] a, float[2,4,1,16] b, float[2,4,16,8] q)
    => (float[2,4,101,16] c, float[2,4,101,8] y)
    { n = Neg(b) c = Concat<axis=2>(a, n) y = MatMul(c, q) }"""


def test_what_is_appended_is_written_and_what_was_kept_lies_where_it_was() -> None:
    found = extracted(APPENDED)
    append = of_operator(found, "Identity")
    assert (append.kind, append.bytes) == ("movement", 2 * NEW)
    assert copying(found) == [(1, "Concat")]
    (as_written,) = (group for group in found.groups if group.rule == STATE_AS_WRITTEN)
    assert as_written.bytes == 2 * (KEPT + NEW)
    assert why_copied(found) == []


def test_what_reads_the_state_waits_for_what_is_new() -> None:
    assert (1, 2) in extracted(APPENDED).edges


def test_a_kernel_that_computes_what_is_new_writes_it_there() -> None:
    regions = [group for group in extracted(APPENDED).groups if group.rule == "region"]
    assert [(group.layers, group.bytes) for group in regions] == [((0, 1), 2 * NEW)]


def test_views_of_a_state_are_the_state() -> None:
    found = extracted(
        """(float[8,100,16] a, float[2,4,1,16] b) => (float[8,101,16] c)
        <int64[4] s = {2,4,-1,16}, int64[3] t = {8,101,16}>
        { n = Neg(b) x = Reshape(a, s) y = Concat<axis=2>(x, n) c = Reshape(y, t) }"""
    )
    assert copying(found) == [(2, "Concat")]
    assert [layer.kind for layer in found.layers] == ["compute", "view", "movement", "view"]


@pytest.mark.parametrize(
    ("inputs", "write"),
    [
        (", int64[2] i", "c = TensorScatter<axis=2>(a, n, i)"),
        (", int64[2,4,1,1,4] i", "c = ScatterND(a, i, n)"),
        (", int64[2,4,1,16] i", "c = ScatterElements<axis=2>(a, i, n)"),
    ],
)
def test_what_is_scattered_into_a_state_is_written_there(inputs: str, write: str) -> None:
    parts = "float[2,4,1,1] b" if "ScatterND" in write else "float[2,4,1,16] b"
    found = extracted(
        f"(float[2,4,100,16] a, {parts}{inputs}) => (float[2,4,100,16] c) {{ n = Neg(b) {write} }}"
    )
    assert [layer.op for layer in found.layers] == ["Neg", "Identity"]
    assert copying(found) == [(1, write.split("= ")[1].split("<")[0].split("(")[0])]


def test_the_last_rows_of_what_was_appended_to_are_a_state() -> None:
    """Of as many as before, so that the new ones take the place of the oldest."""
    text = """(float[2,4,100,16] a, float[2,4,1,16] b) => (float[2,4,100,16] c)
        <int64[1] s = {START}, int64[1] e = {2000}, int64[1] axis = {2}>
        { n = Neg(b) x = Concat<axis=2>(a, n) c = Slice(x, s, e, axis) }"""
    found = extracted(text.replace("START", "-100"))
    assert [layer.op for layer in found.layers] == ["Neg", "Identity"]
    assert copying(found) == [(1, "Concat")]
    for start, end in (("0", "100"), ("-1009", "100"), ("2", "2000")):
        others = extracted(text.replace("START", start).replace("2000", end))
        assert copying(others) == []


@pytest.mark.parametrize("rank", [3, 4])
def test_attention_reads_the_buffer_to_which_its_new_keys_are_appended(rank: int) -> None:
    found = extracted(attending(rank, queries=1, past=100))
    assert [layer.op for layer in found.layers] == ["Identity", "Identity", "Attention"]
    assert copying(found) == [(0, "Concat"), (1, "Concat")]
    attention = of_operator(found, "Attention").layer
    assert attention is not None
    key = attention.tensors[attention.operators[0].inputs[1]]
    assert key.shape == ((2, 101, 64) if rank == 3 else (2, 4, 101, 16))
    assert found.edges == ((0, 2), (1, 2))


def attending(rank: int, *, queries: int, past: int, more: str = "") -> str:
    new = f"float[2,{queries},64]" if rank == 3 else f"float[2,4,{queries},16]"
    heads = "q_num_heads=4, kv_num_heads=4, " if rank == 3 else ""
    kept, after = f"float[2,4,{past},16]", f"float[2,4,{past + queries},16]"
    return f"""({new} q, {new} k, {new} v, {kept} pk, {kept} pv)
        => ({new} y, {after} c, {after} d)
        {{ y, c, d = Attention<{heads}is_causal=1>(q, k, v, , pk, pv) {more} }}"""


def test_attention_behind_the_buffer_computes_the_same() -> None:
    random = np.random.default_rng(0)
    whole = model(attending(4, queries=1, past=100))
    q, k, v = (random.standard_normal((2, 4, 1, 16), np.float32) for _ in "qkv")
    pk, pv = (random.standard_normal((2, 4, 100, 16), np.float32) for _ in "kv")
    wanted, *_ = onnxruntime.InferenceSession(whole.SerializeToString()).run(
        None, {"q": q, "k": k, "v": v, "pk": pk, "pv": pv}
    )
    layer = of_operator(extracted(attending(4, queries=1, past=100)), "Attention").layer
    assert layer is not None
    assert not layer.operators[0].integer("is_causal")
    behind = model(
        """(float[2,4,1,16] q, float[2,4,101,16] k, float[2,4,101,16] v) => (float[2,4,1,16] y)
        { y = Attention(q, k, v) }"""
    )
    keys, values = np.concatenate((pk, k), 2), np.concatenate((pv, v), 2)
    (found,) = onnxruntime.InferenceSession(behind.SerializeToString()).run(
        None, {"q": q, "k": keys, "v": values}
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_before_the_first_step_there_is_nothing_to_copy() -> None:
    found = extracted(attending(4, queries=8, past=0))
    layer = of_operator(found, "Attention").layer
    assert layer is not None
    assert layer.operators[0].integer("is_causal")
    assert len(copying(found)) == 2


def test_grouped_query_attention_has_buffers_as_long_as_what_it_keeps() -> None:
    found = extracted(
        """(float[2,1,64] q, float[2,1,16] k, float[2,1,16] v, float[2,1,100,16] pk,
        float[2,1,100,16] pv, int32[2] l) => (float[2,1,64] y, float[2,1,101,16] c,
        float[2,1,101,16] d) <int32 t = {101}> { y, c, d = com.microsoft.GroupQueryAttention
        <num_heads=4, kv_num_heads=1>(q, k, v, pk, pv, l, t) }"""
    )
    (layer,) = found.layers
    assert layer.layer is not None
    shapes = [layer.layer.tensors[i].shape for i in layer.layer.operators[0].inputs[3:5]]
    assert shapes == [(2, 1, 101, 16)] * 2
    assert copying(found) == [(0, "GroupQueryAttention")] * 2
    (copied, _) = (group for group in found.groups if group.rule == STATE_AS_WRITTEN)
    assert copied.bytes - layer.bytes == 2 * 2 * 100 * 16 * 4


def test_a_cache_as_long_as_its_window_is_read_as_one_that_has_room_for_all() -> None:
    found = extracted(
        """(float[2,1,64] q, float[2,1,16] k, float[2,1,16] v, float[2,1,32,16] pk,
        float[2,1,32,16] pv, int32[2] l) => (float[2,1,64] y, float[2,1,32,16] c,
        float[2,1,32,16] d) <int32 t = {101}> { y, c, d = com.microsoft.GroupQueryAttention
        <num_heads=4, kv_num_heads=1, local_window_size=32, sliding_window_cache=1>
        (q, k, v, pk, pv, l, t) }"""
    )
    (layer,) = found.layers
    assert layer.layer is not None
    assert layer.attribute("sliding_window_cache") in (None, 0)
    total = layer.layer.tensors[layer.layer.operators[0].inputs[6]]
    assert total.value == np.int32(32).tobytes()
    assert copying(found) == [(0, "GroupQueryAttention")] * 2


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (
            """(float[2,4,100,16] a, float[2,4,1,16] b) => (float[2,4,101,16] c,
            float[2,4,101,16] d)
            { n = Neg(b) m = Exp(b) c = Concat<axis=2>(a, m) d = Concat<axis=2>(a, n) }""",
            states.SEVERAL,
        ),
        (
            """(float[2,4,100,16] a, float[2,4,1,16] b, int64[2] i) => (float[2,4,101,16] c)
            { n = Neg(b) r = Gather<axis=0>(a, i) c = Concat<axis=2>(r, n) }""",
            states.REORDERED,
        ),
        (
            """(float[2,4,100,16] a, float[2,4,1,16] b, int64[2] i) => (float[2,4,100,16] c,
            float[2,4,100,16] d) { n = Neg(b) c = TensorScatter<axis=2>(a, n, i) d = Neg(a) }""",
            states.READ_ELSEWHERE,
        ),
        (
            """(float[2,4,100,16] a, float[2,4,1,16] b, int64[2] i) => (float[2,4,100,16] c,
            float[2,4,100,16] a) { n = Neg(b) c = TensorScatter<axis=2>(a, n, i) }""",
            states.READ_ELSEWHERE,
        ),
        (
            """(float[2,4,100,16] a, float[2,4,1,16] b, int64[2,4,1,16] i) => (float[2,4,100,16] c)
            { n = Neg(b) c = ScatterElements<axis=2, reduction="add">(a, i, n) }""",
            states.COMBINED,
        ),
        (
            """(float[2,4,100,16] a, float[2,4,1,16] b, int64[2,4,1,16] i) => (float[2,4,100,16] d)
            { n = Neg(b) c = ScatterElements<axis=2>(a, i, n) m = Exp(b)
            d = ScatterElements<axis=2>(c, i, m) }""",
            states.IN_STEPS,
        ),
        (
            """(float[2,4,100,16] a, float[2,4,1,16] b) => (float[2,4,103,16] e)
            { n = Neg(b) m = Exp(b) c = Concat<axis=2>(a, n) d = Concat<axis=2>(c, m)
            e = Concat<axis=2>(d, n) }""",
            states.IN_STEPS,
        ),
        (
            attending(3, queries=1, past=100, more="e = Neg(c)").replace(
                "float[2,4,101,16] d)", "float[2,4,101,16] d, float[2,4,101,16] e)"
            ),
            states.OTHER_FORM,
        ),
    ],
)
def test_a_state_of_which_it_is_not_sure_is_copied_and_said_so(graph: str, why: str) -> None:
    found = extracted(graph)
    assert set(why_copied(found)) == {why}
    assert copying(found) == []


REDUNDANT = [
    "x = Identity(a) c = Concat<axis=2>(x, n)",
    "x = Reshape(a, s) c = Concat<axis=2>(x, n)",
]


@pytest.mark.parametrize("body", REDUNDANT)
def test_what_only_led_to_a_state_is_of_no_harm(body: str) -> None:
    found = extracted(
        "(float[2,4,100,16] a, float[2,4,1,16] b) => (float[2,4,101,16] c)"
        f" <int64[4] s = {{2,4,100,16}}> {{ n = Neg(b) {body} }}"
    )
    assert [title for _, title in copying(found)] == ["Concat"]


def test_what_says_where_new_parts_go_comes_before_they_are_written() -> None:
    found = extracted(
        """(float[2,4,100,16] a, float[2,4,1,16] b, int64[2,4,1,16] i) => (float[2,4,100,16] c)
        { n = Neg(b) j = Abs(i) c = ScatterElements<axis=2>(a, j, n) }"""
    )
    assert found.edges == ((0, 2), (1, 2))


def test_a_value_of_the_models_own_keeps_its_name_and_type() -> None:
    proto = model(
        """(float[2,4,100,16] a, float[2,4,1,16] b, float[3] k) => (float[2,4,101,16] c, float[3] d)
        { n = Neg(b) c = Concat<axis=2>(a, n) d = Abs(k) }"""
    )
    proto.graph.node[2].output[0] = proto.graph.output[1].name = "c/new"
    found = extract(proto.SerializeToString())
    assert copying(found) == [(1, "Concat")]
    assert found.layers[2].bytes == 2 * 3 * 4


def test_positions_are_those_with_the_dequantizers_that_ingest_adds() -> None:
    unit = "{0}f = MatMul(d, w) {0} = QuantizeLinear({0}f, s, z)"
    ones = ",".join("1" * 64)
    found = extracted(
        f"""(uint8[1,8] x, float[2,4,100,16] a, float[2,4,1,16] b) => (uint8[1,8] p, uint8[1,8] q,
        float[2,4,101,16] c) <float s = {{0.1}}, uint8 z = {{0}}, uint8[8,8] v = {{{ones}}}>
        {{ d = DequantizeLinear(x, s, z) w = DequantizeLinear(v, s, z) {unit.format("p")}
        {unit.format("q")} n = Neg(b) c = Concat<axis=2>(a, n) }}"""
    )
    ((position, _),) = copying(found)
    assert found.layers[position].op == "Identity"


@pytest.mark.parametrize(
    "graph",
    [
        # It is not returned.
        """(float[2,4,100,16] a, float[2,4,1,16] b) => (float[2,4,101,16] c)
        { n = Neg(b) x = Concat<axis=2>(a, n) c = Neg(x) }""",
        # Two inputs, joined.
        """(float[2,4,100,16] a, float[2,4,1,16] b) => (float[2,4,101,16] c)
        { c = Concat<axis=2>(a, b) }""",
        # A weight is no state.
        """(float[2,4,1,16] b) => (float[2,4,2,16] c) <float[2,4,1,16] a>
        { w = ConstantOfShape(s) x = Add(w, b) c = Concat<axis=2>(x, b) }""".replace(
            "<float[2,4,1,16] a>", "<int64[4] s = {2,4,1,16}>"
        ),
        # It is computed.
        """(float[2,4,100,16] a, float[2,4,1,16] b) => (float[2,4,101,16] c)
        { n = Neg(a) c = Concat<axis=2>(n, b) }""",
    ],
)
def test_other_joins_are_what_they_were(graph: str) -> None:
    found = extracted(graph)
    assert of_operator(found, "Concat").kind == "movement"
    assert (copying(found), why_copied(found)) == ([], [])


def notes(graph: str) -> tuple[str, ...]:
    content = model(graph).SerializeToString()
    return extract_with_summary(content, batch=None, dims={}, limits=Limits()).notes


def test_a_summary_says_how_many_states_are_in_place_and_why_others_are_not() -> None:
    assert notes(APPENDED) == (
        "1 state is in place, such as of 'c': only what is new is written, which is shown as an "
        "Identity",
    )
    reordered = APPENDED.replace("(a, n)", "(r, n)").replace(
        "n = Neg(b)", "n = Neg(b) r = Gather(a, i)"
    )
    copied = reordered.replace("(float[2,4,100,16] a,", "(float[2,4,100,16] a, int64[2] i,")
    assert notes(copied) == (f"1 layer copies a state: {states.REORDERED}",)
