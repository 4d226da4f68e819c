"""Convolutions behind a Pad of zeros are convolutions that pad by themselves."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.padded import RULE
from tests.examples import examples
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import content, extracted
from tests.ingest.test_program import as_program, blocks_of, run

HEAD = (
    "g (float[2,4,8,7] x, float[4,4,3,3] z, int32[2] narrow) => ({out})"
    ' <float[4,4,3,3] w = ["location": "w"], float[4] b = ["location": "w"],'
    " int64[8] p = {{ {pads} }}, float value = {{ {value} }}, int64[2] axes = {{2, 3}},"
    " int64[4] q = {{1, 0, 2, 1}}, int64[4] r = {{0, 1, 1, 2}},"
    " int32[2] turned = {{-1, 2}}{known}> {{ {body} }}"
)
SPACE = "0, 0, 1, 0, 0, 0, 2, 1"
"""One before the third axis, two after it, and one after the last."""

KNOWN = ", float[2,4,11,8] a"
"""The shape of what is padded, where it doesn't follow from the Pad's inputs."""

CONV = "c = Conv<pads=[1,1,0,1]>(a, w, b) y = Relu(c)"


def text(
    body: str, *, out: str = "y", pads: str = SPACE, value: str = "0.0", known: str = ""
) -> str:
    return HEAD.format(body=body, out=out, pads=pads, value=value, known=known)


def groups(model: ExtractedModel) -> list[str]:
    found = [group for group in model.groups if group.rule == RULE]
    for group in found:
        check_group(model, group)
    return [group.layer.title() for group in found]


@pytest.mark.parametrize(
    "pad",
    [
        "a = Pad(x, p)",
        "a = Pad(x, p, value)",
        'a = Pad<mode="constant">(x, p, value)',
        "a = Pad(x, q, value, axes)",
        "a = Pad(x, r, value, turned)",
    ],
)
def test_it_is_the_same_layer_as_a_convolution_that_pads(pad: str) -> None:
    found = extracted(text(f"{pad} {CONV}", known=KNOWN))
    assert groups(found) == ["Conv", "Conv+Relu"]
    natural = extracted(text("c = Conv<pads=[2,1,2,2]>(x, w, b) y = Relu(c)"))
    (fused,) = (group for group in natural.groups if group.layer.title() == "Conv+Relu")
    assert {group.fingerprint for group in found.groups if group.rule == RULE} == {
        natural.layers[0].fingerprint,
        fused.fingerprint,
    }


@pytest.mark.parametrize(
    ("body", "changes"),
    [
        (f'a = Pad<mode="reflect">(x, p) {CONV}', {}),
        (f"a = Pad(x, p, value) {CONV}", {"value": "1.0"}),
        (f"a = Pad(x, p) {CONV}", {"pads": "0, 1, 0, 0, 0, 1, 0, 0"}),  # more channels
        (f"a = Pad(x, p) {CONV}", {"pads": "0, 0, -1, 0, 0, 0, 2, 1"}),  # cuts off
        (f"a = Pad(x, p) {CONV}", {"out": "y, a"}),  # what is padded is returned
        (f"a = Pad(x, p) {CONV} o = Relu(a)", {"out": "y, o"}),  # or read by others
        ("k = Relu(z) v = Pad(k, p) y = Conv(x, v, b)", {"pads": "0, 0, 1, 1, 0, 0, 1, 1"}),
        (
            f"a = Pad(x, q, value, narrow) {CONV}",
            {"known": KNOWN},
        ),  # along what isn't known
        ("a = Pad(x, p) y = MaxPool<kernel_shape=[2,2]>(a)", {}),
        (f"s = ReduceMax<keepdims=0>(x) a = Pad(x, p, s) {CONV}", {}),  # by what isn't known
    ],
)
def test_what_looks_like_it(body: str, changes: dict[str, str]) -> None:
    assert groups(extracted(text(body, **changes))) == []


def test_it_ends_where_what_is_padded_is_added() -> None:
    """The value would be read twice."""
    body = "a = Pad(x, p) c = Conv(a, w, b) y = Add(c, x)"
    assert groups(extracted(text(body, pads="0, 0, 1, 1, 0, 0, 1, 1"))) == ["Conv"]


@given(
    zeros=st.lists(st.integers(0, 3), min_size=4, max_size=4),
    own=st.lists(st.integers(0, 2), min_size=4, max_size=4),
    stride=st.integers(1, 3),
)
@examples(3)
def test_it_computes_what_the_model_does(zeros: list[int], own: list[int], stride: int) -> None:
    pads = ", ".join(map(str, (0, 0, *zeros[:2], 0, 0, *zeros[2:])))
    body = f"a = Pad(x, p) c = Conv<pads={own}, strides=[{stride}, {stride}]>(a, w, b) y = Relu(c)"
    rng = np.random.default_rng(3)
    values = {
        "x": rng.standard_normal((2, 4, 8, 7), np.float32),
        "w": rng.standard_normal((4, 4, 3, 3), np.float32),
        "b": rng.standard_normal(4, np.float32),
        "z": np.zeros((4, 4, 3, 3), np.float32),
        "narrow": np.zeros(2, np.int32),
    }
    weightless = content(text(body, pads=pads))
    model = onnx.load_model_from_string(weightless)
    for tensor in model.graph.initializer:
        if tensor.name in values:
            tensor.CopyFrom(onnx.numpy_helper.from_array(values[tensor.name], tensor.name))
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(["y"], {name: values[name] for name in ("x", "z", "narrow")})
    blocks = blocks_of(extracted(text(body, pads=pads)), fused=True)
    assert len(blocks) == 1
    made = as_program(weightless, blocks)
    found = dict(values)
    for step in made.steps:
        found |= run(step, found)
    np.testing.assert_allclose(found["y"], expected, rtol=1e-4, atol=1e-5)
