"""Attention is found however exporters write it, and what others read is left out."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.attention.propose import RULE
from tests.examples import examples
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import extracted as real

HEAD = (
    "g (float[2,4,7,8] q, float[2,4,8,9] kt, float[2,9,4,8] k, float[2,4,9,6] v,"
    " float[2,1,7,9] m) => ({out}) <float s = {{0.5}}, float[1,1,7,9] w = [\"location\": \"w\"],"
    " float[7,7] channels = [\"location\": \"w\"], float[252,3] tall = [\"location\": \"w\"]>"
    " {{ {body} }}"
)  # fmt: skip


def titles(model: ExtractedModel) -> list[str]:
    found = [group for group in model.groups if group.rule == RULE]
    for group in found:
        check_group(model, group)
    return ["+".join(model.layers[at].op for at in group.layers) for group in found]


def attentions(body: str, out: str = "y", opset: int = 21) -> list[str]:
    return titles(extracted(HEAD.format(body=body, out=out), opset))


CORE = "a = MatMul(q, kt) {between} y = MatMul({p}, v)"


@pytest.mark.parametrize(
    "between",
    [
        "p = Softmax(a)",
        "p = Softmax<axis=3>(a)",
        "b = Mul(a, s) p = Softmax(b)",
        "b = Mul(s, a) p = Softmax(b)",
        "b = Div(a, s) p = Softmax(b)",
        "b = Add(a, m) p = Softmax(b)",
        "b = Add(w, a) p = Softmax(b)",
        "b = Mul(a, s) c = Add(b, w) d = Add(c, m) p = Softmax(d)",
        "b = Add(a, w) c = Div(b, s) p = Softmax(c)",
        "b = Identity(a) c = Softmax(b) p = Dropout(c)",
    ],
)
def test_scales_masks_and_views_may_lie_between(between: str) -> None:
    body = CORE.format(between=between, p="p")
    model = extracted(HEAD.format(body=body, out="y"))
    assert titles(model) == ["+".join(layer.op for layer in model.layers)]


@pytest.mark.parametrize(
    ("body", "out"),
    [
        ("a = MatMul(q, kt) p = Softmax(a) y = MatMul(p, v)", "y, p"),  # returned as well
        ("a = MatMul(q, kt) p = Softmax(a) t = MatMul(p, v) y = Concat<axis=3>(t, a)", "y"),
        ("a = MatMul(q, kt) p = Softmax<axis=2>(a) y = MatMul(p, v)", "y"),
        ("a = MatMul(q, kt) b = Mul(a, w) p = Softmax(b) y = MatMul(p, v)", "y"),  # no number
        ("a = MatMul(q, kt) b = Div(s, a) p = Softmax(b) y = MatMul(p, v)", "y"),
        ("a = MatMul(q, kt) b = Sin(a) p = Softmax(b) y = MatMul(p, v)", "y"),
        ("a = MatMul(q, kt) b = Softmax(a) p = Softmax(b) y = MatMul(p, v)", "y"),
        ("a = MatMul(q, kt) p = Softmax(a) y = MatMul(channels, p)", "y"),  # comes second
        ("a = MatMul(q, kt) p = Softmax(a) y = Relu(p)", "y"),
        ("a = MatMul(q, kt) y = Softmax(a)", "y"),
        ("a = MatMul(q, kt) b = Flatten(a) p = Softmax(b) y = MatMul(p, tall)", "y"),
    ],
)
def test_what_is_no_attention(body: str, out: str) -> None:
    assert attentions(body, out) == []


def test_a_softmax_before_version_13_reaches_to_the_end() -> None:
    body = "a = MatMul(q, kt) p = Softmax<axis={}>(a) y = MatMul(p, v)"
    assert attentions(body.format(3), opset=12) == ["MatMul+Softmax+MatMul"]
    assert attentions(body.format(2), opset=12) == []
    assert attentions("a = MatMul(q, kt) p = Softmax(a) y = MatMul(p, v)", opset=12) == []


def test_a_mask_that_makes_the_scores_larger_is_none() -> None:
    model = extracted(
        "g (float[4,7,8] q, float[4,8,9] k, float[4,9,6] v, float[2,1,7,9] m) => (y)"
        "{ a = MatMul(q, k) b = Add(a, m) p = Softmax(b) y = MatMul(p, v) }"
    )
    assert titles(model) == []


def test_what_prepares_the_keys_and_what_turns_the_result_may_be_in_it() -> None:
    keys = "r = Reshape(k, n) k1 = Transpose<perm=[0,2,1,3]>(r) k2 = Transpose<perm=[0,1,3,2]>(k1)"
    body = (
        f"n = Constant<value_ints=[2, 9, 4, 8]>() {keys} k3 = Mul(k2, s) a = MatMul(q, k3)"
        " p = Softmax(a) o = MatMul(p, v) y = Transpose<perm=[0,2,1,3]>(o)"
    )
    before, core = "Transpose", "Transpose+Mul+MatMul+Softmax+MatMul"
    assert attentions(body) == [
        core,
        f"{core}+Transpose",
        f"{before}+{core}",
        f"{before}+{core}+Transpose",
    ]


def test_keys_that_others_read_as_well_stay_outside() -> None:
    body = (
        "k1 = Transpose<perm=[0,2,3,1]>(k) a = MatMul(q, k1) p = Softmax(a) y = MatMul(p, v)"
        " z = Relu(k1)"
    )
    assert attentions(body, "y, z") == ["MatMul+Softmax+MatMul"]


BLOCKS = {
    "diffusers-unet": 8,
    "timm-vit_tiny_patch16_224": 12,
    "torchvision-swin_t": 12,
    "transformers-bert": 4,
    "transformers-gpt2": 4,
    "transformers-llama": 3,
    "transformers-t5-decoder": 6,
    "transformers-t5-encoder": 3,
    "transformers-whisper-decoder": 8,
    "transformers-whisper-encoder": 4,
}


@pytest.mark.parametrize("raw", ["", "-raw"])
@pytest.mark.parametrize("name", list(BLOCKS))
def test_all_attentions_of_exported_models_are_found(name: str, raw: str) -> None:
    """Each alone, with what moves its operands, with its result's Transpose, and with both."""
    model = real(name + raw)
    softmaxes = [at for at, layer in enumerate(model.layers) if layer.op == "Softmax"]
    assert len(softmaxes) == BLOCKS[name]
    groups = [group.layers for group in model.groups if group.rule == RULE]
    titles(model)
    for softmax in softmaxes:
        mine = [[model.layers[at].op for at in group] for group in groups if softmax in group]
        assert Counter(ops[-1] for ops in mine) == {"MatMul": 2, "Transpose": 2}
        assert len({len(ops) for ops in mine}) == len(mine)
        fewest = min(mine, key=len)
        assert not {"Slice", "Split", "Gather", "Expand"} & set(fewest)
        assert fewest.count("Transpose") <= 1
        assert set(columns_apart(model, min((g for g in groups if softmax in g), key=len))) == {1}


def columns_apart(model: ExtractedModel, positions: tuple[int, ...]) -> list[int]:
    """How far apart the columns of queries, keys and values are in what a group reads."""
    (layer,) = (group.layer for group in model.groups if group.layers == positions)
    attention = next(each for each in layer.operators if each.op_type == "Attention")
    writers = {each.outputs[0]: each for each in layer.operators}
    apart = []
    for index in attention.inputs[:3]:
        permuted = False
        while index in writers:
            before = writers[index]
            axes = [each.value for each in before.attributes if each.name == "perm"]
            permuted |= any(isinstance(perm, tuple) and perm[-1] != len(perm) - 1 for perm in axes)
            index = before.inputs[0]
        apart.append(layer.tensors[index].shape[-1] if permuted else 1)
    return apart


steps = st.lists(
    st.sampled_from(
        ["Mul({0}, s)", "Add({0}, w)", "Softmax({0})", "Identity({0})", "Add({0}, {1})",
         "Softmax<axis=2>({0})", "Div({0}, s)", "Relu({0})"]
    ),
    min_size=1,
    max_size=7,
)  # fmt: skip


@given(steps, st.data())
@examples(times=1)
def test_whatever_lies_between_groups_keep_the_rules(
    chosen: list[str], data: st.DataObject
) -> None:
    names, lines = ["a", "a"], []
    for number, step in enumerate(chosen):
        one, other = (data.draw(st.sampled_from(names[-2:])) for _ in range(2))
        lines.append(f"v{number} = {step.format(one, other)}")
        names.append(f"v{number}")
    body = CORE.format(between=" ".join(lines), p=names[-1])
    for found in attentions(body):
        assert found.startswith("MatMul+")
        assert found.count("Softmax") == 1
