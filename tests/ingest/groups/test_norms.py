"""A sum and its normalisation are a group, unless others read the sum."""

import pytest

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.norms import RULE
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import extracted as real

HEAD = (
    "g (float[2,5,8] x, float[2,5,8] z, float[8] narrow) => ({out})"
    ' <float[8] s = ["location": "w"], float[8] b = ["location": "w"]> {{ {body} }}'
)


def titles(model: ExtractedModel) -> list[str]:
    found = [group for group in model.groups if group.rule == RULE]
    for group in found:
        check_group(model, group)
    return [group.layer.title() for group in found]


def norms(body: str, out: str = "y") -> list[str]:
    return titles(extracted(HEAD.format(body=body, out=out), opset=23))


def test_a_sum_and_a_norm() -> None:
    assert norms("a = Add(x, z) y = LayerNormalization(a, s, b)") == ["Add+LayerNormalization"]
    assert norms("a = Add(x, z) y = RMSNormalization(a, s)") == ["Add+RMSNormalization"]


@pytest.mark.parametrize(
    ("body", "out"),
    [
        ("a = Add(x, z) y = LayerNormalization(a, s, b)", "y, a"),  # returned as well
        ("a = Add(x, z) n = LayerNormalization(a, s, b) y = Add(a, n)", "y"),  # used twice
        ("a = Add(x, narrow) y = LayerNormalization(a, s, b)", "y"),  # repeated
        ("a = Add(s, narrow) y = LayerNormalization(x, a, b)", "y"),  # the scale
        ("a = Add(x, z) y, mean = LayerNormalization(a, s, b)", "y, mean"),
        ("a = Add(x, z) y = LpNormalization(a)", "y"),
        ("a = Mul(x, z) y = LayerNormalization(a, s, b)", "y"),
    ],
)
def test_what_is_no_such_group(body: str, out: str) -> None:
    assert norms(body, out) == []


@pytest.mark.parametrize(
    ("name", "count"),
    [("transformers-bert", 9), ("transformers-gpt2", 1), ("torchvision-swin_t", 1)],
)
def test_models_that_normalise_after_their_sums_have_many(name: str, count: int) -> None:
    """The others read each sum again in the next one."""
    for raw in ("", "-raw"):
        assert titles(real(name + raw)) == ["Add+LayerNormalization"] * count
