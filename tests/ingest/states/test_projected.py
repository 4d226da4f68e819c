"""ONNX Runtime's Attention keeps its keys and values, which are one input and output, in place."""

import numpy as np
import onnxruntime
import pytest

from benanza_ingest.extract import wired
from benanza_ingest.limits import Limits
from benanza_ingest.states import find as states
from tests.ingest.onnx_text import content
from tests.ingest.states.test_in_place import DOMAINS, copying, extracted, why_copied
from tests.ingest.test_program import Values, as_program, blocks_of, run

PAST = 20


def attending(
    new: int, read: str = ", past", more: str = "", given: str = "unidirectional=1"
) -> str:
    """So many new tokens behind others, by four heads; `more` inputs are read by name."""
    kept, weights = f"float[2,2,4,{PAST},16] past", "float[48,192] w, float[192] b"
    return f"""(float[2,{new},48] x, {kept}, {weights}{more})
        => (float[2,{new},64] y, float[2,2,4,{PAST + new},16] present)
        {{ y, present = com.microsoft.Attention<num_heads=4, {given}>(x, w, b, {read}) }}"""


@pytest.mark.parametrize("new", [1, 3])
@pytest.mark.parametrize(
    ("read", "more"),
    [
        (", past", ""),
        ("m, past", ", int32[2,{keys}] m"),
        ("m, past", ", int32[2,{new},{keys}] m"),
    ],
)
@pytest.mark.parametrize("causal", [0, 1])
def test_it_computes_the_same_of_a_buffer(new: int, read: str, more: str, causal: int) -> None:
    keys = PAST + new
    text = attending(new, read, more.format(new=new, keys=keys), f"unidirectional={causal}")
    random = np.random.default_rng(1)
    values: Values = {
        "x": random.standard_normal((2, new, 48), np.float32),
        "past": random.standard_normal((2, 2, 4, PAST, 16), np.float32),
        "w": random.standard_normal((48, 192), np.float32) / 7,
        "b": random.standard_normal(192, np.float32),
    }
    if "m" in read:
        shape = (2, new, keys) if "{new}" in more else (2, keys)
        values["m"] = (random.random(shape) < 0.8).astype(np.int32)
    whole = content(f"g {text}", 21, DOMAINS)
    y, present = onnxruntime.InferenceSession(whole).run(None, values)
    found = extracted(text)
    assert [title for _, title in copying(found)] == ["Concat"]
    assert why_copied(found) == []
    values |= {"present/k": present[0], "present/v": present[1]}
    constants = wired(whole, batch=None, dims={}, limits=Limits()).graph.constants
    for step in as_program(whole, blocks_of(found, fused=False)).steps:
        made = {name: constants.value(name) for name in step.names if name in constants}
        values |= run(step, values | {k: v for k, v in made.items() if v is not None})
    np.testing.assert_allclose(values["y"], y, rtol=1e-4, atol=1e-5)
    appended = values["present/new"].reshape(2, new, 2, 4, 16).transpose(2, 0, 3, 1, 4)
    np.testing.assert_allclose(appended, present[:, :, :, PAST:], rtol=1e-4, atol=1e-5)


def test_layers_that_read_one_mask_share_what_is_added() -> None:
    one = "com.microsoft.Attention<num_heads=4>"
    found = extracted(
        f"""(float[2,1,64] x, float[2,2,4,20,16] p, float[2,2,4,20,16] q, int32[2,21] m,
        float[64,192] w, float[64,192] v, float[192] b)
        => (float[2,1,64] z, float[2,2,4,21,16] c, float[2,2,4,21,16] d)
        {{ y, c = {one}(x, w, b, m, p) z, d = {one}(y, v, b, m, q) }}"""
    )
    assert [layer.op for layer in found.layers].count("Where") == 1
    assert len(copying(found)) == 2


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (attending(1, "m, past", ", int32[2] m"), states.NO_FORM),
        (attending(1, given="do_rotary=1"), states.NO_FORM),
        (attending(1, ", past, , n", ", int32[1] n"), states.NO_BUFFER),
    ],
)
def test_what_it_copies_has_a_reason(graph: str, why: str) -> None:
    found = extracted(graph)
    assert set(why_copied(found)) == {why}
    assert copying(found) == []
