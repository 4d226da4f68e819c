"""MultiHeadAttention of ONNX Runtime keeps its keys and values in place."""

import numpy as np
import onnxruntime
import pytest

from benanza_ingest.states import find as states
from tests.ingest.onnx_text import of_operator
from tests.ingest.states.test_in_place import copying, extracted, model, why_copied


def multi_head(
    new: int, *, causal: int = 0, read: str = "q, k, v", more: str = "", past: int = 100
) -> str:
    """So many new tokens behind others; `more` inputs have values of their own."""
    rows, after = f"float[2,{new},64]", f"float[2,4,{past + new},16]"
    kept = f"float[2,4,{past},16]"
    return f"""({rows} q, {rows} k, {rows} v, {kept} pk, {kept} pv{more})
        => ({rows} y, {after} c, {after} d) {{ y, c, d = com.microsoft.MultiHeadAttention
        <num_heads=4, unidirectional={causal}> ({read}, pk, pv) }}"""


PLAIN = "q, k, v, , , "


@pytest.mark.parametrize(("new", "causal"), [(1, 0), (1, 1), (3, 0)])
def test_keys_and_values_are_read_by_head_where_they_are_kept(new: int, causal: int) -> None:
    read, more = "q, k, v, , , m", f", float[2,1,{new},{100 + new}] m"
    found = extracted(multi_head(new, causal=causal, read=read, more=more))
    assert copying(found) == [(0, "Concat"), (1, "Concat")]
    layer = of_operator(found, "MultiHeadAttention")
    assert layer.layer
    (operator,) = layer.layer.operators
    shapes = [layer.layer.tensors[place].shape for place in operator.inputs if place >= 0]
    assert shapes == [(2, new, 64), *[(2, 4, 100 + new, 16)] * 2, (2, 1, new, 100 + new)]
    assert not operator.integer("unidirectional", 0)
    kept = 2 * (100 + new) * 64
    assert layer.bytes == 4 * (2 * 2 * new * 64 + 2 * kept + 2 * new * (100 + new))
    assert why_copied(found) == []


def test_it_computes_the_same_of_buffers() -> None:
    """Also where it would be causal, as one query sees all keys."""
    draw = np.random.default_rng(1).standard_normal
    new = {name: draw((2, 1, 64), np.float32) for name in "qkv"}
    past = {name: draw((2, 4, 100, 16), np.float32) for name in ("pk", "pv")}
    whole = model(multi_head(1, causal=1, read=PLAIN))
    expected = onnxruntime.InferenceSession(whole.SerializeToString()).run(None, new | past)
    keys, values = (
        np.concatenate((past[f"p{name}"], new[name].reshape(2, 4, 1, 16)), 2) for name in "kv"
    )
    of_buffers = model(
        """(float[2,1,64] q, float[2,4,101,16] k, float[2,4,101,16] v) => (float[2,1,64] y)
        { y = com.microsoft.MultiHeadAttention<num_heads=4>(q, k, v) }"""
    )
    (found,) = onnxruntime.InferenceSession(of_buffers.SerializeToString()).run(
        None, {"q": new["q"], "k": keys, "v": values}
    )
    np.testing.assert_allclose(found, expected[0], 1e-5, 1e-6)
    np.testing.assert_array_equal(keys, expected[1])


def test_before_the_first_step_there_is_nothing_to_copy() -> None:
    found = extracted(multi_head(3, causal=1, read=PLAIN, past=0))
    assert (copying(found), why_copied(found)) == ([], [])


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (
            multi_head(1, read="q, k2, , , , ", more=", float[2,1,4,2,16] k2"),
            states.NO_BUFFER,
        ),
        (multi_head(1, read="q, k, v, b, , ", more=", float[192] b"), states.BIASED),
        (multi_head(3, causal=1, read=PLAIN), states.CAUSAL),
    ],
)
def test_what_it_copies_has_a_reason(graph: str, why: str) -> None:
    found = extracted(graph)
    assert set(why_copied(found)) == {why}
    assert copying(found) == []
